// Bindings and variables of wrangler.jsonc. The agents' own objects are added by everthink.d.ts.
declare namespace Cloudflare {
  interface Env {
    OFFLINE_PACE_MS?: string;
    /** Requests with "Authorization: Bearer <secret>" are accepted; without it, none. In .dev.vars, or as a secret. */
    WEBHOOK_SECRET?: string;
  }
}
