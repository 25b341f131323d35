import { chaos, formatChaos, planModel } from "everthink/testing";
import { expect, test } from "vitest";
import { Keeper } from "./keeper.ts";

let sounded = 0;

class TestedKeeper extends Keeper {
  override getModel() {
    const answer = [
      { text: "I warn the ships. ", calls: [{ tool: "soundHorn", input: { seconds: 3 } }] },
      { text: "The horn has sounded." }
    ];
    return planModel({ "There is fog.": answer });
  }

  override async sound(seconds: number) {
    sounded += 1;
    return super.sound(seconds);
  }
}

test("wherever the process dies, the horn sounds at most once and the answer is the same", async () => {
  const result = await chaos({
    agent: TestedKeeper,
    begin: () => void (sounded = 0),
    conversation: async (session) => {
      await session.ask("There is fog.");
    },
    effects: () => ({ soundHorn: sounded }),
    modes: ["after-write", "inside-await"]
  });
  expect(result.differences, formatChaos(result)).toEqual([]);
}, 60_000);
