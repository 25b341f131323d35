// The real platform. Bundlers pick this file for `#platform` through the package's "imports" map (condition "workerd").
import { DurableObject, WorkflowEntrypoint } from "cloudflare:workers";
import type { Clock, Ids } from "../ports.ts";
import { realTime } from "../real-time.ts";

export { DurableObject, WorkflowEntrypoint };
export type { WorkflowEvent, WorkflowStep } from "cloudflare:workers";

const clock: Clock = { now: () => Date.now(), ...realTime };

const ids: Ids = { next: randomId, random: Math.random };

/** This module's own life is that of the process, as far as objects share one. */
const process: object = {};

/** Time and identity for one object, and the process it shares. The in-process host answers per test, so the object must be named. */
export function platformOf(_ctx: DurableObjectState): { clock: Clock; ids: Ids; process: object } {
  return { clock, ids, process };
}

/** A module that is being loaded. Where time is virtual, it must not pass meanwhile. */
export function loading<Module>(module: Promise<Module>): Promise<Module> {
  return module;
}

/** Both ends of a new WebSocket, and the response that hands the client its end. */
export function openSocketPair(): { server: WebSocket; response: Response } {
  const { 0: client, 1: server } = new WebSocketPair();
  return { server, response: new Response(null, { status: 101, webSocket: client }) };
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** 21 URL-safe characters, 126 random bits. */
function randomId(): string {
  let id = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(21))) id += ALPHABET[byte & 63];
  return id;
}
