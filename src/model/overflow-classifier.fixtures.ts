// Refusals of prompts that are too long, as the AI SDK hands them on, for the tests of both classifiers. Numbers and names of
// accounts are changed; the wording is the provider's. Add one whenever a provider is seen to say it in a new way.

/**
 * Where the wording was seen: in a public issue, the provider's documentation or other people's public code; "memory" was
 * not seen anywhere. Only the wording: the envelope around it is the provider's usual one, and may be from memory.
 */
export type FixtureSource = "issue" | "docs" | "code" | "memory";

export interface FailureFixture {
  readonly provider: string;
  readonly source: FixtureSource;
  /** Like the SDK's APICallError, an error part of a stream, or what the runtime threw. */
  readonly error: unknown;
}

export interface Refusal {
  readonly message: string;
  readonly statusCode: number;
  readonly data: unknown;
  readonly responseBody: string;
  readonly responseHeaders: Record<string, string>;
  readonly requestBodyValues: unknown;
  readonly isRetryable: boolean;
}

/** As the SDK's providers build it: the message is what their schema finds in the body. */
export function refused(statusCode: number, message: string, data: object): Refusal {
  return {
    message,
    statusCode,
    data,
    responseBody: JSON.stringify(data),
    responseHeaders: { "content-type": "application/json", "x-ratelimit-remaining-tokens": "29000" },
    // What the user wrote must never decide anything.
    requestBodyValues: { messages: [{ role: "user", content: "My prompt is too long for the context window, 429" }] },
    isRetryable: statusCode === 408 || statusCode === 409 || statusCode === 429 || statusCode >= 500
  };
}

/** The body that OpenAI uses and many copied. */
export function openAi(
  statusCode: number,
  message: string,
  rest: { type?: string; param?: string; code?: unknown } = {}
) {
  const { type = "invalid_request_error", param = null, code = null } = rest;
  return refused(statusCode, message, { error: { message, type, param, code } });
}

export const anthropic = (statusCode: number, type: string, message: string) =>
  refused(statusCode, message, { type: "error", error: { type, message }, request_id: "req_011CVQe1dLrGNMJyE1ghG1av" });

export const google = (code: number, message: string, rest: { status: string; details?: object[] }) =>
  refused(code, message, { error: { code, message, ...rest } });

export const bedrock = (statusCode: number, type: string, message: string) => ({
  ...refused(statusCode, message, { message }),
  data: { message, type }
});

export const OVERFLOWS: readonly FailureFixture[] = [
  {
    provider: "OpenAI chat completions",
    source: "issue",
    error: openAi(
      400,
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
      { param: "messages", code: "context_length_exceeded" }
    )
  },
  {
    provider: "OpenAI chat completions with an output limit",
    source: "issue",
    error: openAi(
      400,
      "This model's maximum context length is 8192 tokens. However, you requested 8213 tokens (6683 in the messages, 730 in the functions, and 800 in the completion). Please reduce the length of the messages, functions, or completion.",
      { param: "messages", code: "context_length_exceeded" }
    )
  },
  {
    provider: "OpenAI gpt-5",
    source: "issue",
    error: openAi(
      400,
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 289650 tokens. Please reduce the length of the messages.",
      { param: "messages", code: "context_length_exceeded" }
    )
  },
  {
    provider: "OpenAI responses",
    source: "issue",
    error: openAi(400, "Your input exceeds the context window of this model. Please adjust your input and try again.", {
      param: "input",
      code: "context_length_exceeded"
    })
  },
  {
    provider: "OpenAI responses, in the stream",
    source: "issue",
    error: {
      type: "error",
      sequence_number: 2,
      error: {
        type: "invalid_request_error",
        code: "context_length_exceeded",
        message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
        param: "input"
      }
    }
  },
  {
    provider: "OpenAI responses, newer wording",
    source: "issue",
    error: openAi(400, "Your input exceeds the model's context window.", { param: "input" })
  },
  {
    provider: "Azure OpenAI",
    source: "issue",
    error: openAi(
      400,
      "This model's maximum context length is 128000 tokens. However, you requested 1124171 tokens (124171 in the messages, 1000000 in the completion). Please reduce the length of the messages or completion.",
      { param: "messages", code: "context_length_exceeded" }
    )
  },
  {
    provider: "Anthropic",
    source: "issue",
    error: anthropic(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")
  },
  {
    provider: "Anthropic with an output limit",
    source: "issue",
    error: anthropic(
      400,
      "invalid_request_error",
      "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again"
    )
  },
  {
    provider: "Anthropic behind a gateway that answers 500",
    source: "issue",
    error: refused(500, "prompt is too long: 200348 tokens > 200000 maximum", { error: "prompt is too long" })
  },
  {
    provider: "Google Gemini",
    source: "issue",
    error: google(400, "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", {
      status: "INVALID_ARGUMENT"
    })
  },
  {
    provider: "Google Vertex",
    source: "issue",
    error: refused(400, "Bad Request", [
      {
        error: {
          code: 400,
          message: "The input token count (134123) exceeds the maximum number of tokens allowed (131072).",
          errors: [{ domain: "global", reason: "badRequest" }],
          status: "INVALID_ARGUMENT"
        }
      }
    ])
  },
  {
    provider: "Bedrock",
    source: "issue",
    error: bedrock(400, "ValidationException", "Input is too long for requested model.")
  },
  {
    provider: "Bedrock, in the stream",
    source: "issue",
    error: {
      name: "ValidationException",
      message: "The model returned the following errors: Input is too long for requested model.",
      $fault: "client",
      $metadata: { httpStatusCode: 400, attempts: 1 }
    }
  },
  {
    provider: "Bedrock, Claude",
    source: "issue",
    error: bedrock(
      400,
      "ValidationException",
      "The model returned the following errors: prompt is too long: 200049 tokens > 200000 maximum"
    )
  },
  {
    provider: "Bedrock, Nova",
    source: "code",
    error: bedrock(400, "ValidationException", "Number of input tokens exceeds maximum length")
  },
  {
    provider: "Mistral",
    source: "code",
    error: refused(400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", {
      object: "error",
      message: "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
      type: "invalid_request_error",
      param: null,
      code: null
    })
  },
  {
    provider: "Cohere",
    source: "issue",
    error: refused(
      400,
      "too many tokens: size limit exceeded by 19296 tokens. Try using shorter or fewer inputs. The limit for this model is 132000 tokens.",
      { id: "9c1f", message: "too many tokens: size limit exceeded by 19296 tokens." }
    )
  },
  {
    provider: "Cohere, older",
    source: "issue",
    error: refused(
      400,
      "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.",
      {}
    )
  },
  {
    provider: "xAI",
    source: "issue",
    error: refused(400, "This model's maximum prompt length is 131072 but the request contains 136973 tokens.", {
      code: "Client specified an invalid argument",
      error: "This model's maximum prompt length is 131072 but the request contains 136973 tokens."
    })
  },
  {
    provider: "Groq",
    source: "issue",
    error: openAi(400, "Please reduce the length of the messages or completion.", {
      param: "messages",
      code: "context_length_exceeded"
    })
  },
  {
    provider: "Cerebras",
    source: "issue",
    error: openAi(
      400,
      "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000"
    )
  },
  {
    provider: "DeepSeek",
    source: "issue",
    error: openAi(
      400,
      "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
      { code: "invalid_request_error" }
    )
  },
  {
    provider: "OpenRouter",
    source: "issue",
    error: refused(
      400,
      'This endpoint\'s maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
      { error: { code: 400, metadata: { provider_name: "Chutes" } } }
    )
  },
  {
    provider: "OpenRouter passing a provider's refusal on",
    source: "issue",
    error: refused(400, "Provider returned error", {
      error: {
        message: "Provider returned error",
        code: 400,
        metadata: {
          raw: '{"error":{"message":"This model\'s maximum context length is 8192 tokens. However, you requested 8246 tokens","code":400}}',
          provider_name: "Together"
        }
      }
    })
  },
  {
    provider: "Together",
    source: "issue",
    error: openAi(
      400,
      "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125 `inputs` tokens and 4096 `max_new_tokens`",
      { param: "max_tokens" }
    )
  },
  {
    provider: "Together, newer wording",
    source: "code",
    error: openAi(400, "The input (265330 tokens) is longer than the model's context length (262144 tokens).")
  },
  {
    provider: "Fireworks",
    source: "memory",
    error: openAi(400, "The prompt is too long: 265392, model maximum context length: 262144")
  },
  {
    provider: "Workers AI binding",
    source: "code",
    error: new Error(
      "5021: The estimated number of input and maximum output tokens (155740) exceeded this model context window limit (128000)."
    )
  },
  {
    provider: "Workers AI REST",
    source: "code",
    error: refused(413, "Request Entity Too Large", {
      success: false,
      errors: [
        {
          code: 3010,
          message:
            "AiError: The estimated number of input and maximum output tokens (35000) exceeded this model context window limit (24000)"
        }
      ]
    })
  },
  {
    provider: "Workers AI, newer models",
    source: "issue",
    error: new Error(
      "AiError: Requested token count exceeds the model's maximum context length of 256000 tokens. You requested a total of 256878 tokens: 31216 tokens from the input messages and 225662 tokens for the completion."
    )
  },
  {
    provider: "Ollama",
    source: "code",
    error: refused(400, "Bad Request", { error: "prompt too long; exceeded max context length by 4096 tokens" })
  },
  {
    provider: "Ollama cloud",
    source: "code",
    error: refused(400, "Bad Request", {
      error: "The prompt is too long: 208863, model maximum context length: 202752"
    })
  },
  {
    provider: "vLLM",
    source: "issue",
    error: refused(400, "Bad Request", {
      object: "error",
      message:
        "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
      type: "BadRequestError",
      param: null,
      code: 400
    })
  },
  {
    provider: "vLLM, a prompt that leaves no room for an answer",
    source: "issue",
    error: refused(400, "Bad Request", {
      object: "error",
      message: "max_tokens must be at least 1, got -186.",
      type: "BadRequestError",
      param: null,
      code: 400
    })
  },
  {
    provider: "llama.cpp",
    source: "issue",
    error: refused(
      400,
      "the request exceeds the available context size. try increasing the context size or enable context shift",
      {
        error: {
          code: 400,
          message:
            "the request exceeds the available context size. try increasing the context size or enable context shift",
          type: "exceed_context_size_error",
          n_prompt_tokens: 14429,
          n_ctx: 8192
        }
      }
    )
  },
  {
    provider: "llama-cpp-python",
    source: "issue",
    error: openAi(400, "Requested tokens (2285) exceed context window of 2048")
  },
  {
    provider: "LM Studio",
    source: "issue",
    error: refused(400, "Bad Request", {
      error:
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."
    })
  },
  {
    provider: "LM Studio, older, in the stream",
    source: "issue",
    error:
      "Trying to keep the first 14538 tokens when context the overflows. However, the model is loaded with context length of only 2048 tokens, which is not enough."
  },
  {
    provider: "GitHub Models",
    source: "issue",
    error: openAi(413, "Request body too large for meta-llama-3-70b-instruct model. Max size: 8000 tokens.")
  },
  {
    provider: "GitHub Copilot",
    source: "code",
    error: openAi(400, "prompt token count of 145000 exceeds the limit of 128000")
  },
  {
    provider: "Kimi",
    source: "code",
    error: openAi(400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)")
  },
  {
    provider: "MiniMax",
    source: "code",
    error: openAi(400, "invalid params, context window exceeds limit")
  },
  {
    provider: "DashScope",
    source: "code",
    error: openAi(400, "Range of input length should be [1, 129024]")
  },
  {
    provider: "LiteLLM",
    source: "issue",
    error: refused(
      503,
      "litellm.ServiceUnavailableError: litellm.MidStreamFallbackError: litellm.APIConnectionError: APIConnectionError: OpenAIException - Requested token count exceeds the model's maximum context length of 131072 tokens.",
      {}
    )
  }
];
