// A new project in an empty folder, made by following the README word for word. OpenAI is a server here.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FakeOpenAi } from "./fake-openai.ts";
import { Follower } from "./follower.ts";
import { PackedProject, repository } from "./packed-project.ts";
import { pageSteps } from "./page-steps.ts";

const READY = "/agents/lighthouse/ada/get-messages";
let packed: PackedProject;
let openAi: FakeOpenAi;
let person: Follower;

beforeAll(async () => {
  packed = new PackedProject();
  openAi = await FakeOpenAi.start();
  person = await Follower.begin(packed);
});
afterAll(async () => {
  await person?.leave();
  openAi?.stop();
  await packed?.remove();
});

describe("a project made by following the README word for word", () => {
  test(
    "answers, keeps what it was told over a change of server, and runs on one machine",
    { timeout: 300_000 },
    async () => {
      const steps = pageSteps(repository, "README.md", "Your own agent");
      const [talk, give] = [steps.pop(), steps.pop()];
      await person.follow(steps);
      if (give?.do !== "run" || talk?.do !== "run") throw new Error("The section does not end with two commands.");
      const [key = "", dev = ""] = give.commands;
      await person.run(key);
      appendFileSync(join(person.folder, ".dev.vars"), `OPENAI_BASE_URL=${openAi.url}\n`);
      const development = await person.start(dev, READY);
      expect(await person.run(talk.commands[0] ?? "")).toContain("tool-log\n");
      expect(await person.run("node chat.ts")).toBe("step-start\ntool-log\nstep-start\nLine 2 of the log\ncompleted\n");
      expect([...openAi.keys]).toEqual(["Bearer sk-..."]);
      await person.stop(development);

      const [selfHost] = pageSteps(repository, "README.md", "Self-host on one machine");
      if (selfHost?.do !== "run") throw new Error("The section has no commands.");
      const [install = "", build = "", serve = ""] = selfHost.commands;
      await person.run(install);
      await person.run(build);
      const served = await person.start(`${serve} --allow-private-network`, READY);
      expect(await person.run("node chat.ts")).toContain("Line 1 of the log\ncompleted\n");
      await person.stop(served);
      await person.start(`${serve} --allow-private-network`, READY);
      expect(await person.run("node chat.ts")).toContain("Line 2 of the log\ncompleted\n");
    }
  );
});
