// A model of the user's own with places to die at: before each call, and before each part that it streams.

/** What is needed of a model of the AI SDK, of any major. */
export interface StreamingModel {
  doStream(call: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

/**
 * The same model, which awaits a boundary before it is called and before each part that it streams. Give it the boundary
 * of a `chaos()` run, so that the disturbances `deadly-answer` and `join-anywhere` have points inside of answers.
 *
 * @example
 * let boundary = async () => {};
 * class Disturbed extends Assistant {
 *   override getModel() {
 *     return modelWithBoundary(super.getModel(), () => boundary());
 *   }
 * }
 * await chaos({ agent: Disturbed, begin: (run) => { boundary = run.boundary; }, conversation });
 */
export function modelWithBoundary<Model extends StreamingModel>(model: Model, boundary: () => Promise<void>): Model {
  const doStream = async (call: never) => {
    await boundary();
    const result = await model.doStream(call);
    return { ...result, stream: streamWithBoundary(result.stream, boundary) };
  };
  return new Proxy(model, {
    get(target, name) {
      if (name === "doStream") return doStream;
      const value: unknown = Reflect.get(target, name, target);
      // Methods keep their own object: a class may have private fields.
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    }
  });
}

function streamWithBoundary(stream: ReadableStream<unknown>, boundary: () => Promise<void>): ReadableStream<unknown> {
  const reader = stream.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        await boundary();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason)
    },
    // No read-ahead: the order of crash points must not depend on buffering.
    { highWaterMark: 0 }
  );
}
