// The shape of a language model, taken from the AI SDK: what it is asked, and what it streams.
import type { LanguageModel } from "ai";

export type Model = Extract<LanguageModel, { specificationVersion: "v4" }>;
export type ModelCall = Parameters<Model["doStream"]>[0];
export type Prompt = ModelCall["prompt"];
export type PromptMessage = Prompt[number];
export type StreamResult = Awaited<ReturnType<Model["doStream"]>>;
export type GenerateResult = Awaited<ReturnType<Model["doGenerate"]>>;
export type StreamPart = StreamResult["stream"] extends ReadableStream<infer Part> ? Part : never;
