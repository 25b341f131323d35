import type { TurnConfig } from "./hooks.ts";
declare const c: TurnConfig;
export const d = { ...c, maxSteps: 3 };
export const e: TurnConfig = { ...c, maxSteps: 3 };
export function f(a: TurnConfig | undefined) { return { ...a, maxSteps: 3 }; }
export function g(a: TurnConfig | void) { return a ?? {}; }
export function h(a: TurnConfig | void) { const x: TurnConfig = a ?? {}; return x; }
export function i(a: TurnConfig) { const { model, ...rest } = a; return rest; }
export function j(a: Promise<TurnConfig | void> | TurnConfig | void) { return a; }
