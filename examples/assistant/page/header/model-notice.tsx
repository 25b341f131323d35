// Says when another model answers than the one that was asked for, and, once, that the built-in one is no real model.
import { MODEL_VARIABLES } from "../../shared/model-variables.ts";
import type { ModelStatus } from "../../shared/demo.ts";
import { IconButton } from "../icon-button.tsx";
import { Icon } from "../icons.tsx";
import { useStoredFlag } from "../stored-setting.ts";

const KEYS = MODEL_VARIABLES.filter(
  (name) => name === "OPENAI_COMPATIBLE_URL" || (name.endsWith("_API_KEY") && !name.startsWith("OPENAI_COMPATIBLE"))
);

export function ModelNotice({ model }: { model: ModelStatus | undefined }) {
  const [isDismissed, setDismissed] = useStoredFlag("offline-hint-dismissed", false);
  if (model?.problem !== undefined)
    return (
      <div className="notice" data-kind="problem" role="alert">
        <Icon name="warning" />
        <p>
          <strong>{model.problem.what}</strong> {model.problem.fix}
        </p>
      </div>
    );
  if (model?.provider !== "offline" || isDismissed) return null;
  return (
    <div className="notice" data-kind="hint">
      <p>
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
      </p>
      <IconButton icon="close" size={16} label="Dismiss hint" onClick={() => setDismissed(true)} />
    </div>
  );
}
