// Pulling the plug in `vite dev`, as `everthink serve --plug` does it: POST /__think/plug kills the workerd of this dev
// server in the middle of whatever it does. Miniflare starts another one, and Cloudflare's plugin then restarts the Vite
// server around it, which makes open pages reload. Only a page of this server, on this machine, can do it.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Plugin } from "vite";

const PATH = "/__think/plug";
/** It takes a second; past this, requests may find out for themselves what is wrong. */
const START_LIMIT_MS = 10_000;
const LOOPBACK_HOSTS = ["127.0.0.1", "localhost", "[::1]"];

export function plug(): Plugin {
  return {
    name: "plug",
    apply: "serve",
    // Before the plugin of Cloudflare, which hands every request to the Worker.
    enforce: "pre",
    configureServer(server) {
      // The restart makes a new plugin with a clock of its own.
      let startsAgainUntil = 0;
      server.middlewares.use((request, response, next) => {
        // Vite would show an error all over the page for what is no error of its code.
        if (Date.now() < startsAgainUntil) send(response, 503, { error: "workerd was killed and is starting again." });
        else if (request.url?.split("?")[0] !== PATH) next();
        else if (answer(request, response)) startsAgainUntil = Date.now() + START_LIMIT_MS;
      });
    }
  };
}

/** Whether it killed. */
function answer({ method, headers }: IncomingMessage, response: ServerResponse): boolean {
  if (!isLoopback(headers.host)) send(response, 403, { error: "Only on this machine." });
  else if (method === "GET") send(response, 200, { plug: true });
  else if (method !== "POST") send(response, 405, { error: "GET or POST." });
  else if (!isSameOrigin(headers)) send(response, 403, { error: "Only a page of this server may do that." });
  else {
    const pids = childProcesses("workerd");
    for (const pid of pids) process.kill(pid, "SIGKILL");
    if (pids.length > 0) console.log("The plug was pulled: workerd was killed.");
    send(response, 202, { killed: pids.length });
    return pids.length > 0;
  }
  return false;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(body));
}

/** A name that was pointed at this machine from outside is none of its own. */
function isLoopback(host: string | undefined): boolean {
  return LOOPBACK_HOSTS.includes(host?.replace(/:\d+$/, "") ?? "");
}

/** Browsers send Origin with every POST, and no page can change it. */
function isSameOrigin(headers: IncomingHttpHeaders): boolean {
  const site = headers["sec-fetch-site"] ?? "same-origin";
  return site === "same-origin" && headers.origin?.replace(/^https?:\/\//, "") === headers.host;
}

/** Of this process, by the name of their program. */
function childProcesses(program: string): number[] {
  const table = process.platform === "linux" ? procTable() : psTable();
  return table.flatMap(({ pid, parent, name }) => (parent === process.pid && name === program ? [pid] : []));
}

interface ProcessEntry {
  pid: number;
  parent: number;
  name: string;
}

/** Small images of Linux have no ps. */
function procTable(): ProcessEntry[] {
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      // "12 (workerd) S 7 ...": id, name, state, parent.
      const fields = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${entry}/stat`, "utf8"));
      return [{ pid: Number(entry), name: fields?.[1] ?? "", parent: Number(fields?.[2]) }];
    } catch {
      return []; // It ended while we looked.
    }
  });
}

function psTable(): ProcessEntry[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,comm="], { encoding: "utf8" }).split("\n");
  return lines.map((line) => {
    const [, pid, parent, path = ""] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return { pid: Number(pid), parent: Number(parent), name: path.trim().split("/").at(-1) ?? "" };
  });
}
