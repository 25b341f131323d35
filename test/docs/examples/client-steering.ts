import type { ThinkClient } from "everthink/client";

export async function changeMyMind(client: ThinkClient) {
  const receipt = await client.steer("Only the last three years.");
  await client.editQueued(receipt.id, "Only the last five years.");
  await client.withdraw(receipt.id);
  return client.getSnapshot().queued.length;
}
