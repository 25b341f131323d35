// Failures that are not about the length of a prompt, as the AI SDK hands them on, for the tests of both classifiers.
// Many speak of tokens, limits and sizes, and must not be taken for an overflow: compacting would not help.
import { anthropic, bedrock, google, openAi, refused, type FailureFixture } from "./overflow-classifier.fixtures.ts";

export const RATE_LIMITS: readonly FailureFixture[] = [
  {
    provider: "OpenAI, tokens per minute",
    source: "issue",
    error: openAi(
      429,
      "Rate limit reached for gpt-4 in organization org-x on tokens per min (TPM): Limit 10000, Used 8554, Requested 3082. Please try again in 9.816s. Visit https://platform.openai.com/account/rate-limits to learn more.",
      { type: "tokens", code: "rate_limit_exceeded" }
    )
  },
  {
    provider: "OpenAI, a request above the rate",
    source: "issue",
    error: openAi(
      429,
      "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 30601. The input or output tokens must be reduced in order to run successfully.",
      { type: "tokens", code: "rate_limit_exceeded" }
    )
  },
  {
    provider: "OpenAI, quota",
    source: "memory",
    error: openAi(429, "You exceeded your current quota, please check your plan and billing details.", {
      type: "insufficient_quota",
      code: "insufficient_quota"
    })
  },
  {
    provider: "OpenAI responses, in the stream",
    source: "issue",
    error: {
      type: "error",
      error: {
        code: "rate_limit_exceeded",
        message:
          "Request too large for gpt-5.1 in organization org-x on tokens per min (TPM): Limit 30000, Requested 40000."
      }
    }
  },
  {
    provider: "Azure OpenAI",
    source: "issue",
    error: refused(
      429,
      "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-08-01-preview have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 86400 seconds.",
      { error: { code: "429" } }
    )
  },
  {
    provider: "Anthropic",
    source: "issue",
    error: anthropic(
      429,
      "rate_limit_error",
      "This request would exceed your organization's rate limit of 30,000 input tokens per minute. You can see the response headers for current usage. Please reduce the prompt length or the maximum tokens requested, or try again later."
    )
  },
  {
    provider: "Anthropic, in the stream",
    source: "memory",
    error: {
      type: "error",
      error: { type: "rate_limit_error", message: "Number of request tokens has exceeded your limit" }
    }
  },
  {
    provider: "Google Gemini",
    source: "issue",
    error: google(429, "You exceeded your current quota, please check your plan and billing details.", {
      status: "RESOURCE_EXHAUSTED",
      details: [
        {
          "@type": "type.googleapis.com/google.rpc.QuotaFailure",
          violations: [
            {
              quotaMetric: "generativelanguage.googleapis.com/generate_content_free_tier_input_token_count",
              quotaId: "GenerateContentInputTokensPerModelPerMinute-FreeTier"
            }
          ]
        },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.07s" }
      ]
    })
  },
  {
    provider: "Google Vertex, as a plain value without its status",
    source: "issue",
    error: { error: { status: "RESOURCE_EXHAUSTED", message: "Resource exhausted. Please try again later." } }
  },
  {
    provider: "Bedrock",
    source: "issue",
    error: bedrock(429, "ThrottlingException", "Too many tokens, please wait before trying again.")
  },
  {
    provider: "Bedrock, in the stream",
    source: "issue",
    error: new Error("ThrottlingException: Too many tokens, please wait before trying again.")
  },
  {
    provider: "Bedrock, relayed without its name",
    source: "issue",
    error: { message: "Too many tokens, please wait before trying again." }
  },
  {
    provider: "Bedrock, per day",
    source: "issue",
    error: bedrock(429, "ThrottlingException", "Too many tokens per day, please wait before trying again.")
  },
  {
    provider: "Mistral",
    source: "issue",
    error: refused(429, "Rate limit exceeded", {
      object: "error",
      message: "Rate limit exceeded",
      type: "rate_limited",
      param: null,
      code: "1300"
    })
  },
  {
    provider: "Groq, a request above the rate",
    source: "issue",
    error: openAi(
      413,
      "Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.",
      { type: "tokens", code: "rate_limit_exceeded" }
    )
  },
  {
    provider: "OpenRouter",
    source: "issue",
    error: refused(429, "Provider returned error", { error: { message: "Provider returned error", code: 429 } })
  },
  {
    provider: "Workers AI, daily allowance",
    source: "issue",
    error: refused(429, "Too Many Requests", {
      errors: [{ code: 4006, message: "you have used up your daily free allocation of 10,000 neurons" }]
    })
  }
];

export const TRANSIENTS: readonly FailureFixture[] = [
  {
    provider: "Mistral, capacity",
    source: "issue",
    error: refused(503, "Service tier capacity exceeded for this model.", {
      object: "error",
      message: "Service tier capacity exceeded for this model.",
      type: "invalid_request_error",
      param: null,
      code: null
    })
  },
  {
    provider: "OpenAI",
    source: "memory",
    error: openAi(500, "The server had an error processing your request.", { type: "server_error" })
  },
  {
    provider: "OpenAI responses, in the stream",
    source: "memory",
    error: {
      type: "error",
      error: { code: "server_error", message: "An error occurred while processing your request." }
    }
  },
  { provider: "Anthropic", source: "issue", error: anthropic(529, "overloaded_error", "Overloaded") },
  {
    provider: "Anthropic, in the stream",
    source: "issue",
    error: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
  },
  {
    provider: "Anthropic, its own error",
    source: "memory",
    error: anthropic(500, "api_error", "Internal server error")
  },
  {
    provider: "Google Gemini",
    source: "issue",
    error: google(503, "No capacity available for model on the server", { status: "UNAVAILABLE" })
  },
  {
    provider: "Google, in the stream",
    source: "memory",
    error: { error: { message: "The model is overloaded. Please try again later.", status: "UNAVAILABLE" } }
  },
  {
    provider: "Bedrock, in the stream",
    source: "memory",
    error: { name: "ModelStreamErrorException", message: "The model stream failed." }
  },
  {
    provider: "Workers AI binding",
    source: "memory",
    error: new Error("3040: Capacity temporarily exceeded, please try again.")
  },
  { provider: "a gateway", source: "memory", error: refused(502, "Bad Gateway", {}) },
  { provider: "a gateway's timeout", source: "memory", error: refused(504, "Gateway Timeout", {}) },
  { provider: "Cloudflare in front of a provider", source: "memory", error: refused(524, "A timeout occurred", {}) },
  { provider: "a lock", source: "memory", error: refused(409, "Conflict", {}) },
  { provider: "too early", source: "memory", error: refused(425, "Too Early", {}) },
  { provider: "a slow upload", source: "memory", error: refused(408, "Request Timeout", {}) },
  {
    provider: "the network, through the SDK's retries",
    source: "issue",
    error: {
      name: "AI_RetryError",
      message: "Failed after 3 attempts. Last error: Cannot connect to API: read ECONNRESET",
      lastError: { name: "AI_APICallError", message: "Cannot connect to API: read ECONNRESET", isRetryable: true }
    }
  },
  {
    provider: "the network, bare",
    source: "memory",
    error: new TypeError("fetch failed", {
      cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" })
    })
  },
  { provider: "a stream that was terminated", source: "memory", error: new TypeError("terminated") },
  { provider: "workerd", source: "memory", error: new Error("Network connection lost.") },
  {
    provider: "a stream without an end",
    source: "code",
    error: Object.assign(new Error("The model's answer was cut off."), { code: "model-stream-interrupted" })
  },
  {
    provider: "a timeout",
    source: "memory",
    error: new DOMException("The operation was aborted due to timeout", "TimeoutError")
  }
];

export const FATALS: readonly FailureFixture[] = [
  {
    provider: "OpenAI, key",
    source: "memory",
    error: openAi(
      401,
      "Incorrect API key provided: sk-x. You can find your API key at https://platform.openai.com/account/api-keys.",
      {
        code: "invalid_api_key"
      }
    )
  },
  {
    provider: "OpenAI, model",
    source: "memory",
    error: openAi(404, "The model `gpt-9` does not exist or you do not have access to it.", { code: "model_not_found" })
  },
  {
    provider: "OpenAI, output limit",
    source: "memory",
    error: openAi(
      400,
      "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
      {
        param: "max_tokens",
        code: "invalid_value"
      }
    )
  },
  {
    provider: "Workers AI, output limit",
    source: "issue",
    error: refused(
      400,
      "max_completion_tokens is too large: 262144. This model supports at most 256000 completion tokens.",
      {}
    )
  },
  {
    provider: "Anthropic, output limit",
    source: "issue",
    error: anthropic(
      400,
      "invalid_request_error",
      "max_tokens: 21333 > 4096, which is the maximum allowed number of output tokens for claude-3-opus-20240229"
    )
  },
  { provider: "Anthropic, key", source: "memory", error: anthropic(401, "authentication_error", "invalid x-api-key") },
  { provider: "Anthropic, permission", source: "memory", error: anthropic(403, "permission_error", "Not allowed.") },
  {
    provider: "Anthropic, in the stream",
    source: "memory",
    error: {
      type: "error",
      error: { type: "invalid_request_error", message: "tool_use ids were found without tool_result blocks" }
    }
  },
  {
    provider: "Azure, content filter",
    source: "memory",
    error: openAi(
      400,
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      { param: "prompt", code: "content_filter" }
    )
  },
  {
    provider: "Google, key",
    source: "memory",
    error: google(400, "API key not valid. Please pass a valid API key.", { status: "INVALID_ARGUMENT" })
  },
  {
    provider: "Bedrock, tool names",
    source: "issue",
    error: bedrock(
      400,
      "ValidationException",
      "Value at 'messages.1.member.content.1.member.toolUse.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"
    )
  },
  {
    provider: "Mistral, unknown field",
    source: "issue",
    error: refused(422, "Unprocessable Entity", {
      object: "error",
      message: {
        detail: [
          {
            type: "extra_forbidden",
            loc: ["body", "max_completion_tokens"],
            msg: "Extra inputs are not permitted",
            input: 32000
          }
        ]
      },
      type: "invalid_request_error",
      param: null,
      code: null
    })
  },
  {
    provider: "text-generation-inference, output limit",
    source: "issue",
    error: refused(422, "Input validation error: `max_new_tokens` must be <= 192. Given: 200", {
      error: "Input validation error: `max_new_tokens` must be <= 192. Given: 200"
    })
  },
  {
    provider: "OpenRouter, credits",
    source: "memory",
    error: refused(
      402,
      "This request requires more credits, or fewer max_tokens. You requested up to 8192 tokens, but can only afford 1234.",
      {
        error: { code: 402 }
      }
    )
  },
  { provider: "Workers AI binding, model", source: "docs", error: new Error("5007: No such model @cf/none or task") },
  {
    provider: "the SDK, key",
    source: "memory",
    error: Object.assign(new Error("OpenAI API key is missing."), { name: "AI_LoadAPIKeyError" })
  }
];
