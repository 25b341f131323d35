// Recognises, across providers and the SDK, that a call failed because of a file in the prompt. Pure. A "yes" costs the
// model that file in later turns; without it every later turn would be refused for the same reason.
import { failureSignals, type FailureSignals } from "./failure-details.ts";
import { isOverflow, isRateRefusal, says } from "./overflow-classifier.ts";

/** What providers and the SDK say about a file that they cannot use. */
const FILE = [
  // The SDK: a media type its provider does not take, data that is none, an address that cannot be fetched
  /AI_(Download|InvalidDataContent)Error/,
  /'[^']*(file|image|audio|video|pdf|document|media)[^']*' functionality not supported/i,
  /unsupported (mime|media|content|file|image|document|audio)/i,
  // OpenAI, Azure and those who copied them
  /invalid_image|image_parse_error|invalid_base64|unsupported_(image|file)|(image|file)_url|input_(image|file)/i,
  /(invalid|unsupported|not a valid) (mime|media) ?-?type/i,
  // Anthropic, Bedrock, Google, local servers
  /(could not|unable to|cannot|failed to) (process|download|fetch|read|decode|load|parse|open) .{0,40}(image|file|document|pdf|audio|video|media|attachment)/i,
  /(image|file|document|pdf|audio|video|media|attachment).{0,60}(not valid|invalid|unsupported|not supported|not readable|corrupt|empty|too (large|big)|exceeds|could not be)/i,
  /(does not|doesn't|not) (support|accept|allow) .{0,20}(image|file|document|pdf|audio|video|vision|multimodal|attachment)/i,
  /\.(image|document|file)\.source\b/i
];

/** Refusals of what was sent, and not of the one who sent it, of the model or of the moment. */
const REFUSED_CONTENT: readonly unknown[] = [400, 413, 415, 422];
const NOT_THE_CONTENT: readonly unknown[] = [401, 403, 429];

/** It says that a file is the reason. */
export function isFileRefusal(error: unknown): boolean {
  const facts = failureSignals(error);
  return !isAboutSomethingElse(facts) && says(facts.texts, FILE);
}

/** It may be a file: the provider refused the content of the request and did not say why. */
export function mayBeFileRefusal(error: unknown): boolean {
  const facts = failureSignals(error);
  return !isAboutSomethingElse(facts) && REFUSED_CONTENT.includes(facts.status);
}

function isAboutSomethingElse(facts: FailureSignals): boolean {
  // A file that cannot be fetched has the status of its own server.
  if (says(facts.texts, [/AI_DownloadError/])) return false;
  return NOT_THE_CONTENT.includes(facts.status) || isOverflow(facts) || isRateRefusal(facts);
}
