// `everthink chat` as a user at a terminal has it, with an agent on a real server.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launchBrowser } from "../../browser/browser.ts";
import type { ServeRun } from "../served-project.ts";
import { FrameworkProject, SMALLEST_CONFIG } from "./framework-project.ts";
import { CONTROL_C, ENTER, TerminalUser } from "./terminal-user.ts";

const starter = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../../starters/${path}`, import.meta.url)), "utf8");

/** Who may decide is another test's subject. */
const WITHOUT_LOGIN = `import Assistant from "../../starter/agents/assistant/agent.ts";
export default class extends Assistant {
  authorizeApproval() {
    return true;
  }
}
`;

let project: FrameworkProject;
let served: ServeRun;
let host = "";

beforeAll(async () => {
  project = new FrameworkProject({
    "agents/assistant/agent.ts": WITHOUT_LOGIN,
    // The starter's own files, one folder down: they import each other by the same paths.
    "starter/agents/assistant/agent.ts": starter("business-workflow/agents/assistant/agent.ts"),
    "starter/agents/assistant/plans.ts": starter("business-workflow/agents/assistant/plans.ts"),
    "starter/models/offline-model.ts": starter("shared/models/offline-model.ts"),
    "starter/models/model.ts": starter("shared/models/model.ts"),
    "starter/src/login.ts": starter("business-workflow/src/login.ts"),
    "wrangler.jsonc": JSON.stringify({ ...(JSON.parse(SMALLEST_CONFIG) as object), vars: { OFFLINE_PACE_MS: "100" } })
  });
  expect((await project.build()).error).toBe("");
  served = project.serve();
  ({ host } = new URL(await served.url()));
});
afterAll(async () => {
  served?.child.kill("SIGTERM");
  await served?.ended;
});

const chat = (name: string) =>
  new TerminalUser(["chat", "assistant", name, "--host", host], { cwd: project.folder, hasColors: true });

/** Left behind when EVERTHINK_SCREENSHOTS names a folder. */
async function leavePicture(html: string): Promise<void> {
  const folder = process.env["EVERTHINK_SCREENSHOTS"];
  if (!folder) return;
  const browser = await launchBrowser();
  const page = await browser.newPage();
  await page.setContent(html);
  await page.locator("pre").screenshot({ path: join(folder, "terminal-chat.png") });
  await browser.close();
}

test("an answer streams, a call is a card, an approval is a question, and Ctrl-C at the prompt leaves", async () => {
  const user = chat("ada");
  await user.sees("\n> ");
  user.types(`Pay 40 to Ada${ENTER}`);
  await user.sees(/I prepare\n[^\n]*\n>$/);
  await user.sees("is settled.\n> ");
  user.types(`Pay 400 to Grace${ENTER}`);
  await user.sees("Approve? [y/N] ");
  user.types(`y${ENTER}`);
  await user.sees("is settled.\n> ");
  await leavePicture(user.screen.html);
  user.types(`Pay 500 to Eve${ENTER}`);
  await user.sees("Approve? [y/N] ");
  user.types(ENTER);
  await user.sees(/not approved\n(?!Enter steers).+\n>$/);
  user.types(CONTROL_C);
  expect(await user.ended).toBe(0);
  expect(user.screen.text.split("\n")).toEqual([
    "assistant ada (Ctrl-C leaves, /help lists commands)",
    "> Pay 40 to Ada",
    "I prepare the payment.",
    '┌ pay {"amount":40,"payee":"Ada"}',
    '└ {"paid":40,"payee":"Ada"}',
    "The payment to Ada is settled.",
    "> Pay 400 to Grace",
    "I prepare the payment.",
    '┌ pay {"amount":400,"payee":"Grace"}',
    "│ A payment above the limit",
    "└ waits for your approval",
    "Approve? [y/N] y",
    '┌ pay {"amount":400,"payee":"Grace"}',
    '└ {"paid":400,"payee":"Grace"}',
    "The payment to Grace is settled.",
    "> Pay 500 to Eve",
    "I prepare the payment.",
    '┌ pay {"amount":500,"payee":"Eve"}',
    "│ A payment above the limit",
    "└ waits for your approval",
    "Approve? [y/N]",
    '┌ pay {"amount":500,"payee":"Eve"}',
    "└ not approved",
    expect.any(String),
    ""
  ]);
});

test("an answer whose server is killed goes on in the same line and is there once; the next chat shows it", async () => {
  const user = chat("grace");
  await user.sees("\n> ");
  user.types(`Write the digest.${ENTER}`);
  await user.sees(/Nothing is/);
  for (const pid of served.workerds()) process.kill(pid, "SIGKILL");
  await user.sees("Nothing is open today.\n> ");
  expect(user.screen.text.match(/Nothing/g)).toHaveLength(1);
  user.types(CONTROL_C);
  expect(await user.ended).toBe(0);

  const again = chat("grace");
  await again.sees("you: Write the digest.\nassistant: Nothing is open today.\n> ");
  again.types(CONTROL_C);
  expect(await again.ended).toBe(0);
});

test("Ctrl-C during an answer stops it, and the conversation goes on", async () => {
  const user = chat("eve");
  await user.sees("\n> ");
  user.types(`Pay 40 to Ada${ENTER}`);
  await user.sees(/I prepare\n[^\n]*\n>$/);
  user.types(CONTROL_C);
  await user.sees("\n> ");
  expect(user.screen.text).not.toContain("settled");
  user.types(`Write the digest.${ENTER}`);
  await user.sees("Nothing is open today.\n> ");
  user.types(CONTROL_C);
  expect(await user.ended).toBe(0);
});

test("words with a slash are commands of the terminal, and a path is a message", async () => {
  const user = chat("joan");
  await user.sees("\n> ");
  user.types(`/hlep${ENTER}`);
  await user.sees("There is no /hlep. Did you mean /help?\n> ");
  user.types(`/approve${ENTER}`);
  await user.sees("Nothing waits for your approval.\n> ");
  user.types(`/model${ENTER}`);
  await user.sees("The server does not say which model answers.\n> ");
  user.types(`Pay 40 to Ada${ENTER}`);
  await user.sees("is settled.\n> ");
  user.types(`/undo${ENTER}`);
  await user.sees("Taken back: Pay 40 to Ada\nType what you want instead.\n> ");
  user.types(`Write the digest.${ENTER}`);
  await user.sees("Nothing is open today.\n> ");
  user.types(`/exit${ENTER}`);
  expect(await user.ended).toBe(0);
  // The digest took the place of the payment.
  const again = chat("joan");
  await again.sees(
    "(Ctrl-C leaves, /help lists commands)\nyou: Write the digest.\nassistant: Nothing is open today.\n> "
  );
  again.types(`/new${ENTER}`);
  await again.sees("Delete what was said? [y/N] ");
  again.types(`y${ENTER}`);
  await again.sees("A new conversation.\n> ");
  again.types(`/etc/hosts${ENTER}`);
  await again.sees("I am the offline model, and have no plan for that.\n> ");
  again.types(CONTROL_C);
  expect(await again.ended).toBe(0);
});
