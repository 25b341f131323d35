// The worker of the README after the first steps.
export { default, Lighthouse } from "../readme-worker.ts";
export { Keeper } from "./keeper.ts";
