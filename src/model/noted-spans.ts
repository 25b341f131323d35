// What the framework knows of a model call and the SDK does not, in the SDK's spans of it: which model has answered, what it cost, and
// that another model failed before. The tracer of the settings, or OpenTelemetry's global one, is given to the SDK with spans that are
// told when they begin and end. Spans of registered integrations are their own.
import { isObject } from "../util/json.ts";
import type { ModelSettings } from "./settings.ts";
import { globalTracer, tracerOf, type Span, type Tracer } from "./telemetry-spans.ts";

type Fields = Record<string, unknown>;

export interface SpanNotes {
  /** Of the span of the whole call, when it begins. */
  readonly events: readonly { readonly name: string; readonly attributes: Fields }[];
  /** Of the span of a request to a model, when it ends. */
  request(): Fields;
}

/** Both majors end the names of a request's span so. */
const OF_REQUEST = "doStream";

export function withNotedSpans(settings: ModelSettings, notes: SpanNotes | undefined): ModelSettings {
  const loose = settings as Fields;
  const telemetry = loose["telemetry"] ?? loose["experimental_telemetry"];
  if (!notes || !isObject(telemetry) || telemetry["isEnabled"] !== true) return settings;
  const tracer = tracerOf(telemetry["tracer"]) ?? globalTracer();
  if (!tracer) return settings;
  const noted = { ...telemetry, tracer: notedTracer(tracer, notes) };
  // Under the name that it was given by.
  const changed = loose["telemetry"] ? { telemetry: noted } : { experimental_telemetry: noted };
  // The same settings with another tracer.
  return { ...settings, ...changed } as object as ModelSettings;
}

function notedTracer(tracer: Tracer, notes: SpanNotes): Tracer {
  return {
    startSpan: (name, ...rest) => noted(name, tracer.startSpan(name, ...rest), notes),
    startActiveSpan: (name: string, ...rest: unknown[]) => {
      const work = rest.at(-1) as (span: Span) => never;
      const others = rest.slice(0, -1) as [never];
      return tracer.startActiveSpan(name, ...others, (span: Span) => work(noted(name, span, notes)));
    }
  };
}

function noted(name: string, span: Span, notes: SpanNotes): Span {
  if (name === "ai.streamText") for (const event of notes.events) span.addEvent?.(event.name, event.attributes);
  if (!name.endsWith(OF_REQUEST)) return span;
  const end = span.end.bind(span);
  return Object.assign(span, {
    end: (...time: []) => {
      span.setAttributes(notes.request());
      end(...time);
    }
  });
}
