import { Think } from "everthink";
// The folder skills/ beside this file.
import skills from "everthink:skills";
import { offlineModel } from "../../models/offline-model.ts";

const CODE = `export function add(a: number, b: number) {
  return a + b;
}
`;

// Every agent has a workspace of files, with tools to read, write, edit, list and search them.
export default class Assistant extends Think<Cloudflare.Env> {
  override maxSteps = 20;

  override getModel() {
    return offlineModel(
      [
        {
          match: /write .*function/i,
          steps: () => [
            { text: "I write it to add.ts. ", call: { tool: "write", input: { path: "/add.ts", content: CODE } } },
            { text: "It is in /add.ts." }
          ]
        },
        {
          match: /how do you review/i,
          steps: () => [
            { call: { tool: "activate_skill", input: { name: "review" } } },
            { text: "I read the whole file, and say first what is wrong." }
          ]
        },
        {
          match: /review|read/i,
          steps: () => [
            { call: { tool: "activate_skill", input: { name: "review" } } },
            { call: { tool: "read", input: { path: "/add.ts" } } },
            { text: "add.ts is short and does what it says. A test is missing." }
          ]
        }
      ],
      this.env.OFFLINE_PACE_MS
    );
  }

  override getSystemPrompt() {
    return "You are a careful programmer. Read a file before you change it, and keep changes small.";
  }

  override getSkills() {
    return [skills];
  }
}
