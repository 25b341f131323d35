// Bindings and variables of wrangler.jsonc. The agents' own objects are added by everthink.d.ts.
declare namespace Cloudflare {
  interface Env {
    OFFLINE_PACE_MS?: string;
    /** From BotFather. In .dev.vars, or as a secret; without it there is only the page. */
    TELEGRAM_BOT_TOKEN?: string;
    /** Your own choice of A-Z, a-z, 0-9, _ and -: Telegram sends it with every message, and others do not know it. */
    TELEGRAM_WEBHOOK_SECRET_TOKEN?: string;
  }
}
