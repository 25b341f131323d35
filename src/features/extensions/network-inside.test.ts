// An extension's list of hosts is not a way inside: what is listed there is public, or refused.
import { expect, test } from "vitest";
import { gatedFetch } from "./network-gate.ts";

function ask(url: string, { hosts, answers = {} }: { hosts: readonly string[]; answers?: Record<string, Response> }) {
  const asked: string[] = [];
  const fetch = (async (target: string) => {
    asked.push(target);
    return answers[target] ?? new Response("ok");
  }) as typeof globalThis.fetch;
  const answer = gatedFetch(hosts, [url], { fetch, signal: new AbortController().signal });
  return { answer, asked };
}

test.each([
  "metadata.google.internal",
  "db.internal",
  "printer.local",
  "app.localhost",
  "router.home.arpa",
  "10.0.0.1.nip.io",
  "ip-10-0-0-1.ec2.internal",
  "a.localtest.me"
])("%s is refused although it is listed", async (host) => {
  for (const hosts of [[host], [`*${host.slice(host.indexOf("."))}`]]) {
    const { answer, asked } = ask(`https://${host}/`, { hosts });
    await expect(answer).rejects.toThrow("may not send a request");
    expect(asked).toEqual([]);
  }
});

test("a redirect to such a host is refused, and a public one is asked", async () => {
  const hosts = ["api.example.com", "db.internal"];
  const answers = {
    "https://api.example.com/away": new Response(null, { status: 302, headers: { location: "https://db.internal/" } })
  };
  const away = ask("https://api.example.com/away", { hosts, answers });
  await expect(away.answer).rejects.toThrow("may not send a request to db.internal");
  expect(away.asked).toEqual(["https://api.example.com/away"]);
  expect(await ask("https://api.example.com/", { hosts }).answer).toMatchObject({ status: 200, body: "ok" });
});
