// What the numbers were measured on, as far as it matters to a reader: no host name, no paths.
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { findWorkerd } from "../src/framework/serve/workerd-binary.ts";

export interface Machine {
  cores: number;
  cpu: string;
  node: string;
  workerd: string;
}

export function describeMachine(): Machine {
  const cores = cpus();
  const version = execFileSync(findWorkerd([import.meta.dirname]), ["--version"], { encoding: "utf8" });
  return {
    cores: cores.length,
    cpu: cores[0]?.model.trim() || "an unknown CPU",
    node: process.versions.node,
    workerd: version.replace("workerd", "").trim()
  };
}
