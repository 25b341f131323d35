// The runs of a conversation, and which of them is open beside it.
import { useCallback, useMemo, useState } from "react";
import type { AgentRun } from "everthink/client";
import type { PanelSwitch } from "../panel/use-panel.ts";
import type { Team } from "./team.ts";

export function useTeam(runs: readonly AgentRun[], panel: PanelSwitch) {
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
  const team = useMemo((): Team => ({ runs, openRunId, open }), [runs, openRunId, open]);
  return { team, openRun: runs.find(({ runId }) => runId === openRunId), close };
}
