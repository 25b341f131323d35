// The operations of an OpenAPI document as plain data: one method name each, where each argument goes, and a schema of all
// of them without references. Pure.
import { isObject } from "../../../util/json.ts";
import { sanitizeToolName } from "../connector.ts";
import { inlineRefs, referenced } from "./inline-refs.ts";

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/** The method of every connector for requests that no operation describes. */
export const PLAIN_REQUEST = "request";

export interface OperationParameter {
  /** As code gives it. */
  readonly argument: string;
  readonly name: string;
  readonly in: "path" | "query" | "header";
}

export interface OpenApiOperation {
  /** As code calls it. */
  readonly method: string;
  readonly httpMethod: string;
  /** With names in braces. */
  readonly path: string;
  readonly operationId?: string;
  readonly description: string;
  readonly parameters: readonly OperationParameter[];
  /** Made when it is asked for: of thousands of operations few are. */
  inputSchema(): Record<string, unknown>;
  outputSchema(): unknown;
}

export function operationsOf(spec: unknown): OpenApiOperation[] {
  const paths = isObject(spec) && isObject(spec["paths"]) ? spec["paths"] : {};
  const taken = new Set([PLAIN_REQUEST]);
  return Object.entries(paths).flatMap(([path, given]) => {
    const item = resolved(spec, given);
    return METHODS.flatMap((httpMethod): OpenApiOperation[] => {
      const operation = item[httpMethod];
      return isObject(operation) ? [operationOf({ spec, path, httpMethod, item, operation, taken })] : [];
    });
  });
}

interface OperationSource {
  readonly spec: unknown;
  readonly path: string;
  readonly httpMethod: string;
  readonly item: Record<string, unknown>;
  readonly operation: Record<string, unknown>;
  readonly taken: Set<string>;
}

function operationOf({ spec, path, httpMethod, item, operation, taken }: OperationSource): OpenApiOperation {
  const { operationId } = operation;
  const wanted =
    typeof operationId === "string"
      ? operationId
      : `${httpMethod}${path.replaceAll(/[^A-Za-z0-9]+/g, "_").replace(/_$/, "")}`;
  const described = parametersOf(spec, item, operation);
  const texts = [operation["summary"], operation["description"]].filter((text) => typeof text === "string");
  let schema: Record<string, unknown> | undefined;
  return {
    method: freeName(wanted, taken),
    httpMethod: httpMethod.toUpperCase(),
    path,
    operationId: typeof operationId === "string" ? operationId : undefined,
    description: [`${httpMethod.toUpperCase()} ${path}`, ...new Set(texts)].join(". "),
    parameters: described.map(({ argument, name, in: place }) => ({ argument, name, in: place })),
    inputSchema: () => (schema ??= inputSchemaOf(spec, operation, described)),
    outputSchema: () => outputSchemaOf(spec, operation)
  };
}

function freeName(wanted: string, taken: Set<string>): string {
  const plain = sanitizeToolName(wanted.replaceAll(/[/:]/g, "_")) || "operation";
  let name = plain;
  for (let count = 2; taken.has(name); count++) name = `${plain}_${count}`;
  taken.add(name);
  return name;
}

interface DescribedParameter extends OperationParameter {
  readonly isRequired: boolean;
  readonly schema: unknown;
  readonly description: unknown;
}

/** Of the path and of the operation, which wins. Cookies are the host's. */
function parametersOf(
  spec: unknown,
  item: Record<string, unknown>,
  operation: Record<string, unknown>
): DescribedParameter[] {
  const byPlace = new Map<string, Record<string, unknown>>();
  for (const list of [item["parameters"], operation["parameters"]]) {
    for (const given of Array.isArray(list) ? (list as unknown[]) : []) {
      const one = resolved(spec, given);
      byPlace.set(`${String(one["in"])} ${String(one["name"])}`, one);
    }
  }
  // `body` is the body.
  const taken = new Set(["body"]);
  return [...byPlace.values()].flatMap((one): DescribedParameter[] => {
    const { name, in: place } = one;
    if (typeof name !== "string" || (place !== "path" && place !== "query" && place !== "header")) return [];
    const argument = taken.has(name) ? `${place}_${name}` : name;
    taken.add(argument);
    // In version 2 the type stands in the parameter itself.
    const schema = one["schema"] ?? (one["type"] === undefined ? {} : { type: one["type"], items: one["items"] });
    const isRequired = place === "path" || one["required"] === true;
    return [{ argument, name, in: place, isRequired, schema, description: one["description"] }];
  });
}

function inputSchemaOf(
  spec: unknown,
  operation: Record<string, unknown>,
  parameters: readonly DescribedParameter[]
): Record<string, unknown> {
  const body = bodyOf(spec, operation);
  const properties = parameters.map(({ argument, schema, description }) => {
    const inlined = inlineRefs(schema, spec);
    return [argument, isObject(inlined) && typeof description === "string" ? { description, ...inlined } : inlined];
  });
  const required = parameters.filter(({ isRequired }) => isRequired).map(({ argument }) => argument);
  return {
    type: "object",
    properties: Object.fromEntries(body ? [...properties, ["body", inlineRefs(body.schema, spec)]] : properties),
    required: body?.isRequired ? [...required, "body"] : required,
    additionalProperties: false
  };
}

function bodyOf(
  spec: unknown,
  operation: Record<string, unknown>
): { schema: unknown; isRequired: boolean } | undefined {
  if (operation["requestBody"] !== undefined) {
    const body = resolved(spec, operation["requestBody"]);
    return { schema: contentSchema(body) ?? {}, isRequired: body["required"] === true };
  }
  const listed = Array.isArray(operation["parameters"]) ? (operation["parameters"] as unknown[]) : [];
  const body = listed.map((one) => resolved(spec, one)).find((one) => one["in"] === "body");
  return body && { schema: body["schema"] ?? {}, isRequired: body["required"] === true };
}

function outputSchemaOf(spec: unknown, operation: Record<string, unknown>): unknown {
  const responses = isObject(operation["responses"]) ? operation["responses"] : {};
  const code = Object.keys(responses).find((one) => /^2(?:\d\d|XX)$/i.test(one));
  const response = code === undefined ? {} : resolved(spec, responses[code]);
  const schema = contentSchema(response) ?? response["schema"];
  return schema === undefined ? undefined : inlineRefs(schema, spec);
}

/** Of JSON if there is JSON. */
function contentSchema({ content }: Record<string, unknown>): unknown {
  if (!isObject(content)) return undefined;
  const type = Object.keys(content).find((one) => one.includes("json")) ?? Object.keys(content)[0];
  const media = type === undefined ? undefined : content[type];
  return isObject(media) ? media["schema"] : undefined;
}

/** A part of the document, or what its reference names. */
function resolved(spec: unknown, part: unknown): Record<string, unknown> {
  if (!isObject(part)) return {};
  const reference = part["$ref"];
  const found = typeof reference === "string" ? referenced(spec, reference) : part;
  return isObject(found) ? found : {};
}
