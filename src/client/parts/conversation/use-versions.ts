// Which messages have several versions. Asked for when the conversation is connected and whenever a turn is over: only
// then can there be a new one.
import { useCallback, useEffect, useState } from "react";
import type { ConnectionState, Status } from "../think.ts";
import { isBusy } from "./use-live-answer.ts";

export type Versions = Readonly<Record<string, readonly string[]>>;

interface VersionSource {
  readonly connection: ConnectionState;
  readonly status: Status;
  branches(): Promise<Versions>;
  selectBranch(messageId: string): Promise<void>;
}

export function useVersions(source: VersionSource): { versions: Versions; select: (id: string) => Promise<void> } {
  const { connection, status, branches, selectBranch } = source;
  const [versions, setVersions] = useState<Versions>({});
  const refresh = useCallback(async () => {
    try {
      setVersions(await branches());
    } catch {
      // The connection broke meanwhile: the next one asks again.
    }
  }, [branches]);
  const isQuiet = connection === "open" && !isBusy(status);
  useEffect(() => {
    if (isQuiet) void refresh();
  }, [isQuiet, refresh]);
  const select = useCallback(
    async (messageId: string) => {
      await selectBranch(messageId);
      await refresh();
    },
    [selectBranch, refresh]
  );
  return { versions, select };
}
