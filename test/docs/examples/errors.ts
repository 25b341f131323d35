import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think, ThinkError, type ThinkErrorCode } from "everthink";

const RETRY_LATER: readonly ThinkErrorCode[] = ["turn-queue-full", "request-not-stored"];

export class Assistant extends Think {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override onChatError(error: unknown) {
    const isBusy = error instanceof ThinkError && RETRY_LATER.some((code) => code === error.code);
    return isBusy ? new Error("I am busy. Please try again in a minute.") : error;
  }
}
