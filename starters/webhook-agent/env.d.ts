// Bindings and variables of wrangler.jsonc. The agents' own objects are added by everthink.d.ts.
declare namespace Cloudflare {
  interface Env {
    OFFLINE_PACE_MS?: string;
    /** With it, only requests with "Authorization: Bearer <secret>" are accepted. In .dev.vars, or as a secret. */
    WEBHOOK_SECRET?: string;
  }
}
