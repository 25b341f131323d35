// The tasks and submissions of a conversation, and what a person can do with them. Tasks are asked for anew whenever
// something may have changed them: a switch, here or in another tab, or a submission that began or ended.
import { useCallback, useEffect, useMemo, useState } from "react";
import type { ClientSubmission } from "everthink/client";
import type { UseThinkResult } from "everthink/react";
import type { Assistant } from "../../agents/assistant/agent.ts";
import type { DemoTask } from "../../shared/demo.ts";

export interface Background {
  readonly tasks: readonly DemoTask[];
  readonly submissions: readonly ClientSubmission[];
  set(taskId: string, isOn: boolean): void;
  run(taskId: string): void;
  cancel(submissionId: string): void;
}

type Agent = Pick<UseThinkResult<typeof Assistant>, "call" | "connection" | "submissions" | "state">;

export function useBackground({ call, connection, submissions, state }: Agent, isShown: boolean): Background {
  const [tasks, setTasks] = useState<readonly DemoTask[]>([]);
  const isReady = isShown && connection === "open";
  const switched = state?.tasksOn?.join(" ");
  const begun = submissions.map(({ submissionId, status }) => submissionId + status).join(" ");
  const refresh = useCallback(async () => {
    try {
      setTasks(await call("listTasks", []));
    } catch {
      // The connection went; it is asked again on the next one.
    }
  }, [call]);
  useEffect(() => {
    if (isReady) void refresh();
  }, [isReady, refresh, switched, begun]);
  return useMemo(() => {
    const act = async (work: Promise<unknown>) => {
      await work.catch(() => undefined);
      await refresh();
    };
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    return {
      tasks,
      submissions,
      set: (taskId, isOn) => void act(call("setTask", [taskId, isOn, timeZone])),
      run: (taskId) => void act(call("runTask", [taskId])),
      cancel: (submissionId) => void act(call("cancelSubmission", [submissionId]))
    };
  }, [tasks, submissions, call, refresh]);
}
