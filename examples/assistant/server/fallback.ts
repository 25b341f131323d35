// A model that stands in for another that cannot be used as it is set up, so that a wrong key never leaves people without
// an answer. It decides before anything was streamed; ordinary failures pass through untouched.
import type { Model, ModelCall } from "./language-model.ts";
import type { ModelProblem } from "./models.ts";

export interface FallbackInit {
  readonly model: Model;
  readonly standIn: Model;
  /** Undefined: the failure is the caller's to handle. */
  readonly problemIn: (error: unknown) => ModelProblem | undefined;
  /** Told with each call: what keeps the model from being used, or nothing. */
  readonly report: (problem: ModelProblem | undefined) => void;
}

export function withFallback({ model, standIn, problemIn, report }: FallbackInit): Model {
  const ask = async <Result>(call: ModelCall, how: (model: Model) => PromiseLike<Result>): Promise<Result> => {
    try {
      const result = await how(model);
      report(undefined);
      return result;
    } catch (error) {
      const problem = call.abortSignal?.aborted ? undefined : problemIn(error);
      if (problem === undefined) throw error;
      report(problem);
      return how(standIn);
    }
  };
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doStream: (call) => ask(call, (asked) => asked.doStream(call)),
    doGenerate: (call) => ask(call, (asked) => asked.doGenerate(call))
  };
}
