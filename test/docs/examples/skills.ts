// The examples of docs/skills.md.
import { openai } from "@ai-sdk/openai";
import { streamText, type LanguageModel, type ModelMessage } from "ai";
import { skills, Think, type SkillSource } from "everthink";
import { fromManifest, SkillRegistry, type SkillsBucket, type SkillManifest } from "everthink/skills";

export const manifest: SkillManifest = {
  id: "team",
  fingerprint: "1",
  skills: [
    {
      name: "release-notes",
      description: "Writes release notes. Use it when a release is announced.",
      body: "Group the changes by what users see. Follow references/style-guide.md.",
      resources: [
        { path: "references/style-guide.md", kind: "reference", encoding: "text", content: "Short sentences." },
        { path: "scripts/count.sh", kind: "script", encoding: "text", content: "jq '.changes | length' /input.json" }
      ]
    }
  ]
};

interface Env {
  SKILLS_BUCKET: SkillsBucket;
}

export class Writer extends Think {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getSkills(): SkillSource[] {
    return [skills.fromManifest(manifest), skills.workspace(this.workspace, "/skills")];
  }

  override getSkillScriptRunner() {
    return skills.runner({ workspaceInstance: this.workspace });
  }
}

export class Shared extends Think<Env> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getSkills() {
    return [skills.r2(this.env.SKILLS_BUCKET, { prefix: "skills/", skills: ["release-notes"] })];
  }
}

const registry = new SkillRegistry([fromManifest(manifest)]);

export async function answer(model: LanguageModel, messages: ModelMessage[]) {
  const system = `You help the team.\n\n${await registry.systemPrompt()}`;
  return streamText({ model, system, messages, tools: await registry.tools() });
}
