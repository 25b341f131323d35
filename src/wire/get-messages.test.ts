import { describe, expect, test } from "vitest";
import { user } from "./chat-kit.test-support.ts";
import { getMessagesResponse, isGetMessagesRequest } from "./get-messages.ts";

const messages = ["u1", "u2", "u3", "u4"].map((id) => user(id));
const get = (query = "", init?: RequestInit) =>
  getMessagesResponse(new Request(`http://host/agents/a/b/get-messages${query}`, init), () => messages);

test.each([
  ["http://h/agents/a/b/get-messages", true],
  ["http://h/agents/a/b/get-messages?token=1", true],
  ["http://h/anything/sub/c/d/get-messages", true],
  ["http://h/get-messages", true],
  ["http://h/agents/a/b", false],
  ["http://h/agents/a/b/forget-messages", false],
  ["http://h/agents/a/b/get-messages/x", false]
])("%s is a request for messages: %s", (url, expected) => {
  expect(isGetMessagesRequest(new Request(url))).toBe(expected);
});

describe("get-messages", () => {
  test("of a fresh agent is 200 and an empty list", async () => {
    const response = getMessagesResponse(new Request("http://h/get-messages"), () => []);
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toBe("application/json");
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(await response.json()).toEqual([]);
  });

  test("is the whole transcript unless the client asks for less", async () => {
    expect(await get().json()).toEqual(messages);
  });

  test.each([
    ["?limit=2", ["u3", "u4"]],
    ["?limit=10", ["u1", "u2", "u3", "u4"]],
    ["?before=u3", ["u1", "u2"]],
    ["?before=u3&limit=1", ["u2"]],
    ["?before=u1", []]
  ])("%s pages backwards", async (query, ids) => {
    const page = (await get(query).json()) as { id: string }[];
    expect(page.map(({ id }) => id)).toEqual(ids);
  });

  test.each(["?limit=0", "?limit=-1", "?limit=x", "?limit=", "?limit=1.5", "?before=unknown"])(
    "%s is refused",
    (query) => {
      expect(get(query).status).toBe(400);
    }
  );

  test("answers HEAD without a body", async () => {
    const response = get("", { method: "HEAD" });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
  });

  test.each(["POST", "PUT", "DELETE"])("refuses %s without reading anything", (method) => {
    const response = getMessagesResponse(new Request("http://h/get-messages", { method }), () => {
      throw new Error("read");
    });
    expect(response.status).toBe(405);
    expect(response.headers.get("Allow")).toBe("GET, HEAD");
  });
});
