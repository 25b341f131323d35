// Variables of .dev.vars.example, for the model and the login. Those of a starter's own are in env.d.ts.
declare namespace Cloudflare {
  interface Env {
    MODEL_PROVIDER?: string;
    MODEL?: string;
    OPENAI_API_KEY?: string;
    ANTHROPIC_API_KEY?: string;
    GOOGLE_GENERATIVE_AI_API_KEY?: string;
    WORKERS_AI_ACCOUNT_ID?: string;
    WORKERS_AI_API_TOKEN?: string;
    OPENAI_COMPATIBLE_URL?: string;
    OPENAI_COMPATIBLE_API_KEY?: string;
    /** Names and hashed passwords, one per line. */
    LOGIN_USERS?: string;
    /** What sessions are signed with: 32 characters or more. */
    SESSION_SECRET?: string;
  }
}
