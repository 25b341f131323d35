// Turns that wait for more budget. They are no calls of an answer, so no message tells of them: the agent is asked when the
// conversation is connected, whenever a turn is over, and after a decision.
import { useCallback, useEffect, useMemo, useState } from "react";
import type { ConnectionState, Status, UseThinkResult } from "../think.ts";
import { budgetQuestions, type BudgetQuestion } from "../tool/budget-question.ts";
import { isBusy } from "./use-live-answer.ts";

export interface Budgets {
  readonly questions: readonly BudgetQuestion[];
  /** The amount is in the question's unit. */
  grant(question: BudgetQuestion, amount: number): Promise<unknown>;
  reject(question: BudgetQuestion): Promise<unknown>;
}

interface BudgetSource extends Pick<UseThinkResult<unknown>, "client" | "approve" | "reject"> {
  readonly connection: ConnectionState;
  readonly status: Status;
}

const NONE: readonly BudgetQuestion[] = [];

export function useBudgets({ connection, status, client, approve, reject }: BudgetSource): Budgets {
  const [questions, setQuestions] = useState(NONE);
  /** An agent without approvals has no such method: it is asked once. */
  const [isSilent, setSilent] = useState(false);
  const refresh = useCallback(async () => {
    try {
      const found = budgetQuestions(await client.call("pendingApprovals", []));
      setQuestions((before) => (found.length === 0 && before.length === 0 ? before : found));
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "call-failed") setSilent(true);
    }
  }, [client]);
  const isQuiet = connection === "open" && !isBusy(status) && !isSilent;
  useEffect(() => {
    if (isQuiet) void refresh();
  }, [isQuiet, refresh]);
  return useMemo(() => {
    const decided = async (decision: Promise<unknown>) => {
      const output = await decision;
      await refresh();
      return output;
    };
    const asked = ({ executionId, inputHash }: BudgetQuestion) => ({
      executionId,
      ...(inputHash !== undefined && { inputHash })
    });
    return {
      questions,
      grant: (question, amount) => decided(approve(asked(question), { input: { amount } })),
      reject: (question) => decided(reject(asked(question)))
    } satisfies Budgets;
  }, [questions, refresh, approve, reject]);
}
