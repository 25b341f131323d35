// What is wrong with a list of models, and what a model of it did.
import { errorTable, ThinkError } from "../../util/errors.ts";

export const modelListErrors = errorTable(ThinkError, {
  /** What `getModels()`, or `getModel()` as a list, returned cannot be asked. */
  ModelListError: (reason: string) => ({
    code: "model-list-invalid",
    message: "This agent has no model to answer with.",
    hint: `The list of getModel() or getModels(): ${reason}`
  }),
  /** The provider withheld the answer, and the class wants another model to be asked then. */
  ContentFilteredError: () => ({
    code: "model-content-filtered",
    message: "The model's provider withheld its answer.",
    hint: "The provider ended the answer with the reason `content-filter`."
  })
});
