// Names of the variables that choose the model. `npm start` hands on those that are set.
export const MODEL_VARIABLES = [
  "MODEL_PROVIDER",
  "MODEL",
  "OPENAI_API_KEY",
  "ANTHROPIC_API_KEY",
  "GOOGLE_GENERATIVE_AI_API_KEY",
  "OPENAI_COMPATIBLE_URL",
  "OPENAI_COMPATIBLE_API_KEY",
  "OFFLINE_PACE_MS"
] as const;
