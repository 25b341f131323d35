// What the login window shows: the texts are a server's.
import { expect, test } from "vitest";
import { loginPage } from "./login-page.ts";

test("a login that failed says why, and nothing of what the server says is markup", async () => {
  const response = loginPage({ serverId: "s", authSuccess: false, authError: '<img src=x onerror="alert(1)"> & co' });
  expect([response.status, response.headers.get("content-type")]).toEqual([400, "text/html; charset=utf-8"]);
  const html = await response.text();
  expect(html).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt; &amp; co");
  expect(html).not.toMatch(/<img|<script/);
});

test("a login that succeeded closes its window", async () => {
  const response = loginPage({ serverId: "s", authSuccess: true });
  expect(response.status).toBe(200);
  expect(await response.text()).toContain("window.close()");
});
