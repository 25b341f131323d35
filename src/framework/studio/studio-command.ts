// `everthink studio`, and Studio beside `everthink serve`.
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { kebabCase } from "../../util/kebab.ts";
import type { Binding } from "../serve/worker-manifest.ts";
import { INSPECTION_VARIABLE, parseStudioArguments, STUDIO_HELP } from "./studio-arguments.ts";
import { startStudio, STUDIO_PORT, type RunningStudio } from "./studio-server.ts";

export interface StudioPlace {
  /** The built page. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly say: (text: string) => void;
  readonly stop: AbortSignal;
}

/** Returns when it was stopped. Throws a UsageError. */
export async function runStudio(args: readonly string[], place: StudioPlace): Promise<void> {
  const options = parseStudioArguments(args, place.environment);
  if (options === "help") return place.say(STUDIO_HELP);
  const { target, agent, instance, port, canWrite } = options;
  const agents = agent === undefined ? [] : [{ id: agent, label: agent }];
  const studio = await startStudio({
    folder: place.folder,
    target: () => target,
    agents,
    agent,
    instance,
    canWrite,
    port
  });
  place.say(`Studio: ${studio.url} looks at ${target.origin}${canWrite ? "" : " (read-only)"}; Ctrl-C stops it.\n`);
  if (!place.stop.aborted) await once(place.stop, "abort");
  await studio.close();
}

/** Studio of a served app: with a key that only this server and the app have, new at every start. */
export class ServedStudio {
  readonly #key: string;
  readonly #bindings: readonly Binding[];
  readonly #canWrite: boolean;
  #running: RunningStudio | undefined;

  constructor(bindings: readonly Binding[], canWrite: boolean) {
    const own = bindings.find((binding) => binding.type === "secret" && binding.name === INSPECTION_VARIABLE);
    this.#key = own?.type === "secret" ? own.value : `${randomUUID()}${randomUUID()}`;
    this.#canWrite = canWrite;
    const others = bindings.filter(({ name }) => name !== INSPECTION_VARIABLE);
    this.#bindings = [...others, { type: "secret", name: INSPECTION_VARIABLE, value: this.#key }];
  }

  /** The Worker's, with the key among them. */
  get bindings(): Binding[] {
    return [...this.#bindings];
  }

  /** Its address, once the app listens. */
  async start(folder: string, origin: string): Promise<string> {
    const classes = this.#bindings.flatMap((binding) => (binding.type === "object" ? [binding] : []));
    this.#running = await startStudio({
      folder,
      target: () => ({ origin, prefix: "agents", token: this.#key, query: {} }),
      agents: classes.map(({ name, className }) => ({ id: kebabCase(name), label: className })),
      agent: classes[0] && kebabCase(classes[0].name),
      instance: "default",
      canWrite: this.#canWrite,
      port: STUDIO_PORT
    });
    return this.#running.url;
  }

  async close(): Promise<void> {
    await this.#running?.close();
  }
}
