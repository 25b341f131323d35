// Asks a running workerd whether it still answers. It runs everything on one thread, so an endless loop anywhere in it
// leaves this question unanswered too: that is how a frozen process is distinguished from a busy one.
import { request } from "node:http";
import { HEALTH_PATH } from "./workerd-config.ts";

export interface HealthQuestion {
  host: string;
  port: number;
  timeoutMs: number;
}

export function isAnswering({ host, port, timeoutMs }: HealthQuestion): Promise<boolean> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil(timeoutMs)));
    const asked = request({ host: reachableHost(host), port, path: HEALTH_PATH, agent: false, signal }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.once("error", () => resolve(false));
    asked.end();
  });
}

/** Where to reach a server that listens on this address. */
export function reachableHost(host: string): string {
  if (host === "0.0.0.0" || host === "*") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}
