/** `agent`: the address of the agent, such as /agents/analyst/ada@example.com. */
export async function upload(agent: string, file: File) {
  const path = `/uploads/${encodeURIComponent(file.name)}`;
  const response = await fetch(`${agent}/workspace${path}`, { method: "PUT", body: file });
  if (!response.ok) throw new Error(`The upload failed: ${response.status}`);
  return path;
}
