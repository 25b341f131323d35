// Bindings and variables of wrangler.jsonc. The agents' own objects are added by everthink.d.ts.
declare namespace Cloudflare {
  interface Env {
    OFFLINE_PACE_MS?: string;
    /** Who may approve payments of others, such as "grace@example.com". Without it, no one. */
    APPROVERS?: string;
    /** Set by `everthink dev`: there another name than the asker's may approve. */
    EVERTHINK_DEVELOPMENT?: string;
  }
}
