// Bindings and variables of wrangler.jsonc. The agents' own objects are added by everthink.d.ts.
declare namespace Cloudflare {
  interface Env {
    OFFLINE_PACE_MS?: string;
  }
}
