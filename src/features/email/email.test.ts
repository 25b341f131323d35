import { expect, test } from "vitest";
import { makeReply, sendEmail, type OutgoingEmail, type SendEmailOptions } from "./email.ts";

const mail = { to: "ada@example.com", from: "office@example.com", subject: "Hello", text: "Hi." };

test("a mail goes to the binding it names, else to the class's function, and its answer is returned", async () => {
  const sent: [string, object][] = [];
  const binding = { send: async (email: object) => (sent.push(["binding", email]), { messageId: "1" }) };
  const deliver = async (email: OutgoingEmail) => (sent.push(["function", email]), "2");
  expect(await sendEmail({ ...mail, binding }, deliver)).toEqual({ messageId: "1" });
  expect(await sendEmail(mail, deliver)).toBe("2");
  const outgoing = { ...mail, headers: {} };
  expect(sent).toEqual([
    ["binding", outgoing],
    ["function", outgoing]
  ]);
});

test("without a way to send, and with a secret that nothing would sign with, it is a named error", async () => {
  await expect(sendEmail(mail, undefined)).rejects.toMatchObject({ code: "email-not-sent" });
  const binding = { send: async () => expect.unreachable("It was sent unsigned.") };
  await expect(sendEmail({ ...mail, binding, secret: "s" }, undefined)).rejects.toMatchObject({
    code: "email-not-sent"
  });
});

test.each<Partial<SendEmailOptions>>([
  { subject: "Hello\r\nBcc: eve@example.com" },
  { to: "ada@example.com\nBcc: eve@example.com" },
  { cc: ["ok@example.com", { email: "x@example.com", name: "X\r\nBcc: eve@example.com" }] },
  { replyTo: "x@example.com\r" },
  { headers: { "X-Note": "a\nBcc: eve@example.com" } },
  { headers: { "X-Note\r\nBcc": "eve@example.com" } }
])("a line break in %j sends nothing", async (fields) => {
  const sent: unknown[] = [];
  const deliver = async (email: OutgoingEmail) => sent.push(email);
  await expect(sendEmail({ ...mail, ...fields }, deliver)).rejects.toMatchObject({ code: "email-not-sent" });
  expect(sent).toEqual([]);
});

test("a reply in HTML, with a subject of its own, to a mail without an id", () => {
  const email = { from: "ada@example.com", to: "office@example.com", headers: new Headers() };
  const reply = makeReply(email, { fromName: "Office", subject: "Yes", body: "<p>Yes</p>", contentType: "text/html" });
  expect(reply).toEqual({
    to: "ada@example.com",
    from: { name: "Office", email: "office@example.com" },
    subject: "Yes",
    html: "<p>Yes</p>",
    headers: {}
  });
});
