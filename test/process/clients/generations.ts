// The generations under test, newest first. "june" is what the documents of this project were written against.
import type { Generation } from "../../clients/generation.ts";
import { june } from "../../clients/june/published.ts";
import { newest } from "../../clients/newest/published.ts";

export const generations: readonly Generation[] = [newest, june];

export const roomWorker = { entry: new URL("./room-worker.ts", import.meta.url), objects: ["Room"] };
