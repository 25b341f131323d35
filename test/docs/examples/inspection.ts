import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think, type ApprovalCaller } from "everthink";
import { hasBearerToken } from "everthink/agent";
import type { InspectionAccess, ModelPrice, TurnsView, TurnTimeline } from "everthink/inspect";

export class Assistant extends Think<{ ADMIN_TOKEN?: string }> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override authorizeInspection(request: Request, access: InspectionAccess) {
    // A variable that is not set opens nothing.
    return access === "read" && hasBearerToken(request, this.env.ADMIN_TOKEN);
  }
}

export class Companion extends Assistant {
  // Who decides over approvals: what onConnect() wrote down about the connection, or the session of a request.
  override identifyApprover({ connection }: ApprovalCaller) {
    return (connection?.state as { user?: string } | null | undefined)?.user;
  }

  // In dollars of a million tokens. The first row that names a model counts.
  override getPrices(): readonly ModelPrice[] {
    return [{ provider: "openai", model: "gpt-5", input: 1.25, cachedInput: 0.125, output: 10 }];
  }
}

export async function newestTurn(
  agent: string,
  token: string,
  ask: (url: string, init: RequestInit) => Promise<Response> = fetch
) {
  const look = async <View>(view: string): Promise<View> => {
    const response = await ask(`${agent}/inspect/v1/${view}`, { headers: { Authorization: `Bearer ${token}` } });
    return (await response.json()) as View;
  };
  const { turns } = await look<TurnsView>("turns?limit=1");
  const { status, attempts, usage } = await look<TurnTimeline>(`turns/${turns[0]?.turnId}`);
  return { status, tokens: usage.totalTokens, deaths: attempts.filter(({ end }) => end === "interrupted").length };
}
