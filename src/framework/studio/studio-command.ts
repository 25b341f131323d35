// `everthink studio`, and Studio beside `everthink serve`.
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { kebabCase } from "../../util/kebab.ts";
import type { Binding } from "../serve/worker-manifest.ts";
import { INSPECTION_VARIABLE, type StudioArguments } from "./studio-arguments.ts";
import { developedAgents, LocalAgents, type WaitingAgents } from "../local-data/waiting-agents.ts";
import { developedInstances, InstanceNames } from "./local-instances.ts";
import { namedAgents } from "./named-agents.ts";
import { startStudio, STUDIO_PORT, type RunningStudio } from "./studio-server.ts";

export interface StudioPlace {
  /** The built page. */
  readonly folder: string;
  /** A line. */
  readonly say: (text: string) => void;
  readonly stop: AbortSignal;
}

/** Returns when it was stopped. */
export async function openStudio(options: StudioArguments, place: StudioPlace): Promise<void> {
  const { target, agent, instance, project, port, canWrite } = options;
  const waiting = waitingOf(options);
  const studio = await startStudio({
    folder: place.folder,
    target: () => target,
    agents: options.agents.map((id) => ({ id, label: id })),
    agent,
    instance,
    canWrite,
    port,
    ...(project && { instances: developedInstances(project) }),
    ...(waiting && { waiting })
  });
  place.say(`Studio: ${studio.url} looks at ${target.origin}${canWrite ? "" : " (read-only)"}; Ctrl-C stops it.`);
  if (!place.stop.aborted) await once(place.stop, "abort");
  await studio.close();
}

function waitingOf({ project, named, target }: StudioArguments): (() => Promise<WaitingAgents>) | undefined {
  if (named) return () => namedAgents({ ...named, token: target.token });
  if (!project) return undefined;
  const local = developedAgents(project.root, project.agents);
  return () => local.waiting();
}

/** A Durable Object class with the folder that workerd keeps its objects in. */
export interface ServedClass {
  readonly className: string;
  readonly folder: string;
}

export interface ServedStudioInit {
  readonly bindings: readonly Binding[];
  readonly canWrite: boolean;
  readonly classes: readonly ServedClass[];
}

/** Studio of a served app: with a key that only this server and the app have, new at every start. */
export class ServedStudio {
  readonly #key: string;
  readonly #init: ServedStudioInit;
  /** With the key among them. */
  readonly bindings: readonly Binding[];
  #running: RunningStudio | undefined;

  constructor(init: ServedStudioInit) {
    this.#init = init;
    const isKey = ({ name }: Binding) => name === INSPECTION_VARIABLE;
    const own = init.bindings.find((binding) => binding.type === "secret" && isKey(binding));
    this.#key = own?.type === "secret" ? own.value : newInspectionKey();
    const others = init.bindings.filter((binding) => !isKey(binding));
    this.bindings = [...others, { type: "secret", name: INSPECTION_VARIABLE, value: this.#key }];
  }

  /** Its address, once the app listens. */
  async start(folder: string, origin: string): Promise<string> {
    const objects = this.bindings.flatMap((binding) => (binding.type === "object" ? [binding] : []));
    const agents = objects.map(({ name, className }) => ({ id: kebabCase(name), label: className }));
    const names = new InstanceNames();
    const local = new LocalAgents(
      // A class that is bound twice has its objects once.
      agents
        .filter(({ label }, index) => agents.findIndex((other) => other.label === label) === index)
        .map(({ id, label }) => ({ agent: id, folders: () => this.#foldersOf(label) }))
    );
    this.#running = await startStudio({
      folder,
      target: () => ({ origin, prefix: "agents", token: this.#key, query: {} }),
      agents,
      // The page begins at the newest instance: asking for one that does not exist would make it.
      agent: undefined,
      instance: undefined,
      canWrite: this.#init.canWrite,
      port: STUDIO_PORT,
      instances: (agent) => names.in(this.#foldersOf(agents.find(({ id }) => id === agent)?.label)),
      waiting: () => local.waiting()
    });
    return this.#running.url;
  }

  #foldersOf(className: string | undefined): string[] {
    return this.#init.classes.filter((one) => one.className === className).map(({ folder }) => folder);
  }

  async close(): Promise<void> {
    await this.#running?.close();
  }
}

/** Long enough that it cannot be guessed. */
export function newInspectionKey(): string {
  return `${randomUUID()}${randomUUID()}`;
}
