// Which run of a colleague is open beside the conversation that asked it.
import { useCallback, useState } from "react";
import type { AgentRun } from "everthink/client";
import type { PanelSwitch } from "../panel/use-panel.ts";

export function useOpenRun(runs: readonly AgentRun[], panel: PanelSwitch) {
  const [openRunId, setOpenRunId] = useState<string>();
  const { isOpen, toggle } = panel;
  const open = useCallback(
    ({ runId }: AgentRun) => {
      setOpenRunId(runId);
      // It takes the panel's place.
      if (!isOpen) toggle();
    },
    [isOpen, toggle]
  );
  const close = useCallback(() => setOpenRunId(undefined), []);
  return { openRun: runs.find(({ runId }) => runId === openRunId), open, close };
}
