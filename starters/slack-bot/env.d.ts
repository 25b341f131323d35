// Bindings and variables of wrangler.jsonc. The agents' own objects are added by everthink.d.ts.
declare namespace Cloudflare {
  interface Env {
    OFFLINE_PACE_MS?: string;
    /** Of the app's "OAuth & Permissions". In .dev.vars, or as a secret; without it there is only the page. */
    SLACK_BOT_TOKEN?: string;
    /** Of the app's "Basic Information": what comes from Slack is signed with it. */
    SLACK_SIGNING_SECRET?: string;
    /** Ids of people who may decide, such as "U7,U9" (a profile's menu: Copy member ID). Without it, none may. */
    SLACK_APPROVERS?: string;
  }
}
