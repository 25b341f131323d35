// What a process has used so far, as Linux tells it in /proc.
import { readdirSync, readFileSync } from "node:fs";

export interface Usage {
  cpuMs: number;
  /** Handed to the file system for the disk, in whole pages. */
  diskBytes: number;
  residentBytes: number;
}

export function readUsage(processId: number): Usage {
  const folder = `/proc/${processId}`;
  return {
    cpuMs: cpuNanoseconds(`${folder}/task`) / 1e6,
    diskBytes: numberAfter(readFileSync(`${folder}/io`, "utf8"), "write_bytes: "),
    residentBytes: numberAfter(readFileSync(`${folder}/status`, "utf8"), "VmRSS:") * 1024
  };
}

/** Of all threads that live; the clock of /proc/<id>/stat is too coarse for a turn. */
function cpuNanoseconds(folder: string): number {
  return readdirSync(folder)
    .map((thread) => Number(readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ")[0]))
    .reduce((sum, nanoseconds) => sum + nanoseconds, 0);
}

function numberAfter(text: string, label: string): number {
  return Number.parseInt(text.slice(text.indexOf(label) + label.length).trim(), 10);
}
