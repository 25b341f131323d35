// Says when another model answers than the one that was asked for, and, once, that the built-in one is no real model.
import { Notice, useSetting } from "everthink/react";
import { MODEL_VARIABLES } from "../../shared/model-variables.ts";
import type { ModelStatus } from "../../shared/demo.ts";

const KEYS = MODEL_VARIABLES.filter(
  (name) => name === "OPENAI_COMPATIBLE_URL" || (name.endsWith("_API_KEY") && !name.startsWith("OPENAI_COMPATIBLE"))
);

export function ModelNotice({ model }: { model: ModelStatus | undefined }) {
  const [dismissed, dismiss] = useSetting("offline-hint-dismissed");
  if (model?.problem !== undefined)
    return (
      <Notice kind="problem">
        <strong>{model.problem.what}</strong> {model.problem.fix}
      </Notice>
    );
  if (model?.provider !== "offline" || dismissed === "yes") return null;
  return (
    <Notice onDismiss={() => dismiss("yes")}>
      The built-in offline model answers
      <span className="notice-why">: a small script, so that everything here works without a key</span>. For a real
      model set{" "}
      {KEYS.map((name, index) => (
        <span key={name}>
          {index > 0 && (index === KEYS.length - 1 ? " or " : ", ")}
          <code>{name}</code>
        </span>
      ))}{" "}
      and start again.
    </Notice>
  );
}
