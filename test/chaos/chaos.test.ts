// A short run of the crash matrix; `npm run chaos` plays all of it.
import { expect, test, vi } from "vitest";
import { chaos, CHAOS_MODES, formatChaos } from "../../src/testing/index.ts";
import { trip } from "./conversation.ts";

// Each test plays a whole conversation for dozens of points.
vi.setConfig({ testTimeout: 30_000 });

/** Of each disturbance, spread over the conversation. */
const POINTS = 8;
const TIMEOUT_MS = 60_000;

test.each(CHAOS_MODES)(
  "a whole conversation comes through: %s",
  async (mode) => {
    const result = await chaos({ ...trip, modes: [mode], points: POINTS });
    expect(result.differences, formatChaos(result)).toEqual([]);
    expect(result.modes[0]?.points).toBeGreaterThan(0);
  },
  TIMEOUT_MS
);
