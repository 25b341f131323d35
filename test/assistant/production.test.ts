// The built example, as `npm start` runs it, in a real browser.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import { launchBrowser } from "../browser/browser.ts";
import { type ExampleServer, startProduction } from "./example-server.ts";
import { declare } from "./scenario.ts";
import { accessScenarios } from "./scenarios/access.ts";
import { answerScenarios } from "./scenarios/answers.ts";
import { approvalScenarios } from "./scenarios/approvals.ts";
import { waitingScenarios } from "./scenarios/waiting.ts";
import { backgroundScenarios } from "./scenarios/background.ts";
import { conversationScenarios } from "./scenarios/conversations.ts";
import { extensionScenarios } from "./scenarios/extensions.ts";
import { fileScenarios } from "./scenarios/files.ts";
import { memoryAndFailureScenarios } from "./scenarios/memory-and-failure.ts";
import { messengerScenarios } from "./scenarios/messenger.ts";
import { phoneScenarios } from "./scenarios/phone.ts";
import { pictureScenarios } from "./scenarios/pictures.ts";
import { plugScenarios } from "./scenarios/plug.ts";
import { programScenarios } from "./scenarios/programs.ts";
import { serverScenarios } from "./scenarios/servers.ts";
import { skillScenarios } from "./scenarios/skills.ts";
import { webScenarios } from "./scenarios/web.ts";
import { teamScenarios } from "./scenarios/team.ts";
import { toolScenarios } from "./scenarios/tools.ts";
import { versionScenarios } from "./scenarios/versions.ts";

let server: ExampleServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startProduction(), launchBrowser()]);
});
afterAll(() => browser?.close());

describe("the built assistant:", () => {
  declare(
    [
      ...answerScenarios,
      ...plugScenarios,
      ...toolScenarios,
      ...teamScenarios,
      ...approvalScenarios,
      ...waitingScenarios,
      ...programScenarios,
      ...serverScenarios,
      ...versionScenarios,
      ...pictureScenarios,
      ...fileScenarios,
      ...skillScenarios,
      ...webScenarios,
      ...extensionScenarios,
      ...memoryAndFailureScenarios,
      ...backgroundScenarios,
      ...messengerScenarios,
      ...conversationScenarios,
      ...accessScenarios,
      ...phoneScenarios
    ],
    () => ({ server, browser })
  );
});
