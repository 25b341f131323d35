// What no request may reach, by whatever address and in whatever spelling, and what does not follow a redirect.
import { describe, expect, test } from "vitest";
import { refusalOf, requestGuarded, type Fetch, type GuardedRequest, type RequestRules } from "./guarded-request.ts";

/** Hosts in spellings that `URL` takes. Each is tried over http and https, given and as the target of a redirect. */
const HOSTS_INSIDE = [
  // This machine, as names and numbers.
  ...[
    "localhost",
    "LOCALHOST",
    "localhost.",
    "localhost..",
    "a.localhost",
    "a.b.localhost.",
    "ｌocalhost",
    "localhost%2e"
  ],
  ...[
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "0x7f.0.0.1",
    "0x7f000001",
    "0X7F.1",
    "0177.0.0.1"
  ],
  ...["017700000001", "2130706433", "2130706433.", "0x7f.0x0.0x0.0x1", "127.0.0.0x1", "127.0x000001", "１２７.0.0.1"],
  ...[
    "127。0。0。1",
    "127．0．0．1",
    "127｡0｡0｡1",
    "①②⑦.0.0.1",
    "%31%32%37.0.0.1",
    "127.0.0.%31",
    "0.0.0.0",
    "0",
    "0x0",
    "00"
  ],
  ...["[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]"],
  // Networks around it.
  ...["10.0.0.1", "10.1", "10.0x1", "0xa.1", "012.0.0.1", "167772161", "0x0a000001", "10.255.255.255", "10.0.0.1.."],
  ...[
    "172.16.0.1",
    "172.31.255.255",
    "0xac.0x10.0.1",
    "2886729729",
    "192.168.0.1",
    "192.168.1",
    "0xc0a80001",
    "3232235521"
  ],
  ...[
    "100.64.0.1",
    "100.127.255.254",
    "100.100.100.200",
    "0x64.0x40.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "0xc6.0x12.1"
  ],
  ...[
    "169.254.169.254",
    "169.254.169.254.",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "169.254.170.2"
  ],
  ...[
    "168.63.129.16",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.51.100.7",
    "203.0.113.7",
    "0.1.2.3",
    "240.0.0.1"
  ],
  ...[
    "224.0.0.1",
    "239.255.255.250",
    "255.255.255.255",
    "4294967295",
    "0xffffffff",
    "037777777777",
    "233.252.0.1",
    "3758096385"
  ],
  ...[
    "[::]",
    "[::ffff:10.0.0.1]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:192.168.0.1]",
    "[::ffff:100.64.0.1]",
    "[::ffff:224.0.0.1]"
  ],
  ...[
    "[::10.0.0.1]",
    "[::ffff:0:10.0.0.1]",
    "[64:ff9b::a00:1]",
    "[64:ff9b:1::1]",
    "[100::1]",
    "[2001::1]",
    "[2001:db8::1]"
  ],
  ...[
    "[2002:a00:1::]",
    "[2002:7f00:1::]",
    "[3fff::1]",
    "[5f00::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[fec0::1]"
  ],
  ...["[ff02::1]", "[ff05::1:3]", "[2001:20::1]", "[2001:2::1]", "[2001:10::1]", "[64:ff9b::127.0.0.1]"],
  // Names that only a network knows, and public names that stand for what is inside.
  ...[
    "intranet",
    "mcp",
    "router.",
    "db.internal",
    "a.b.INTERNAL",
    "printer.local",
    "printer.local.",
    "nas.lan",
    "wiki.corp"
  ],
  ...[
    "box.home",
    "router.home.arpa",
    "host.localdomain",
    "app.intranet",
    "svc.private",
    "kubernetes.default.svc.cluster.local"
  ],
  ...["metadata", "metadata.google.internal", "METADATA.google.internal..", "metadata.goog", "instance-data"],
  ...[
    "127.0.0.1.nip.io",
    "10.0.0.1.nip.io",
    "a.169.254.169.254.nip.io",
    "app-127-0-0-1.sslip.io",
    "a.192-168-0-1.sslip.io"
  ],
  ...[
    "0a000001.nip.io",
    "app-c0a80001.nip.io",
    "7f000001.nip.io",
    "fe80--1.sslip.io",
    "--1.sslip.io",
    "nip.io",
    "x.xip.io"
  ],
  ...[
    "10.0.0.1.traefik.me",
    "localtest.me",
    "a.localtest.me",
    "lvh.me",
    "a.b.lvh.me",
    "vcap.me",
    "lacolhost.com",
    "local.gd"
  ],
  ...[
    "ip-10-0-0-1.ec2.internal",
    "10-0-0-1.example.com",
    "localhost.direct",
    "a.localhost.direct",
    "db。internal",
    "ﬁle.ｌocal"
  ]
];

/** Whole addresses, refused for what they are. */
const HOSTILE_URLS = [
  ...[
    "ftp://example.com/",
    "file:///etc/passwd",
    "data:text/html,x",
    "javascript:alert(1)",
    "blob:https://example.com/1"
  ],
  ...[
    "gopher://example.com/",
    "ws://example.com/",
    "wss://example.com/",
    "about:blank",
    "view-source:https://example.com/"
  ],
  ...["https://user:secret@example.com/", "https://user@example.com/", "https://:secret@example.com/"],
  ...[
    "https://example.com%40127.0.0.1@example.com/",
    "https://8.8.8.8:80@10.0.0.1:8080/",
    "https://example.com@localhost/"
  ],
  ...["http:\\\\10.0.0.1\\a", "https:10.0.0.1", "https:///10.0.0.1/", "\thttps://10.0.0.1/"],
  ...[
    "https://10.0.0.1\\@example.com/",
    "https://[::ffff:10.0.0.1]:8080/",
    "h\nttps://127.0.0.1/",
    "https://127.0.0.1:443/?x=@e.com"
  ],
  ...[0, 1, 7, 21, 22, 23, 25, 53, 69, 110, 111, 119, 135, 139, 143, 161, 179, 389, 465, 514, 587, 636, 993, 995].map(
    port
  ),
  ...[1720, 2049, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6669, 6697, 10080].map(port)
];

function port(number: number): string {
  return `https://example.com:${number}/`;
}

/** Addresses that a redirect from https://example.com/ must not lead to beside those above. */
const HOSTILE_LOCATIONS = [
  ...[
    "http://example.com/",
    "http://other.example.org/",
    "HTTP://example.com/",
    "http://8.8.8.8/",
    "http://example.com:443/"
  ],
  ...[
    "//10.0.0.1/",
    "//localhost:8787/admin",
    "\\\\10.0.0.1\\",
    "///127.0.0.1/",
    "//user@example.com/",
    "//example.com:25/"
  ],
  ...["https://", "http://[::1", "https://exa mple.com/", "https://example.com:99999/", "//[::ffff:a9fe:a9fe]/latest"]
];

const PUBLIC = new URL("https://example.com/");

function scripted(answers: Record<string, () => Response>) {
  const asked: { url: string; method: string | undefined; headers: Record<string, string>; body: unknown }[] = [];
  const fetch: Fetch = async (url, init) => {
    expect(init?.redirect).toBe("manual");
    asked.push({
      url: String(url),
      method: init?.method,
      headers: Object.fromEntries(new Headers(init?.headers)),
      body: init?.body
    });
    return answers[String(url)]?.() ?? new Response("ok");
  };
  return { asked, fetch };
}

/** As a server sends it: a header has only bytes. */
function redirect(location: string, status = 302): Response {
  return new Response(null, { status, headers: { location: location.replaceAll(/[^ -~]/g, encodeURIComponent) } });
}

async function ask(
  url: string,
  {
    answers = {},
    request = {},
    ...rules
  }: { answers?: Record<string, () => Response>; request?: GuardedRequest } & Partial<RequestRules> = {}
) {
  const { asked, fetch } = scripted(answers);
  const refused = (target: URL, reason: string) => new Error(`refused ${target.href}: ${reason}`);
  const answer = await requestGuarded(new URL(url), request, { redirects: 5, fetch, refused, ...rules }).then(
    ({ response, url: from }) => ({ status: response.status, url: from.href }),
    (error: unknown) => String(error)
  );
  return { answer, asked };
}

test("200 hostile addresses and redirects are refused: each of the list is one of the tests below", () => {
  const all = [...HOSTS_INSIDE, ...HOSTILE_URLS, ...HOSTILE_LOCATIONS];
  expect(new Set(all).size).toBe(all.length);
  expect(all.length).toBeGreaterThan(200);
});

describe("an address from inside is not asked", () => {
  test.each(HOSTS_INSIDE)("%s", async (host) => {
    for (const scheme of ["http", "https"]) {
      const given = await ask(`${scheme}://${host}/`);
      expect(given.answer, scheme).toMatch(/refused .*(?:machine|network)/);
      expect(given.asked).toEqual([]);
      for (const status of [301, 302, 303, 307, 308]) {
        const led = await ask(PUBLIC.href, {
          answers: { [PUBLIC.href]: () => redirect(`${scheme}://${host}/`, status) }
        });
        expect(led.answer, `${scheme} ${status}`).toMatch(/refused/);
        expect(led.asked.map(({ url }) => url)).toEqual([PUBLIC.href]);
      }
    }
  });
});

test.each(HOSTILE_URLS.filter((url) => URL.canParse(url)))("%j is not asked", async (url) => {
  const given = await ask(url);
  expect(given.asked.map((one) => new URL(one.url).host)).toEqual([]);
});

test.each([...HOSTILE_URLS, ...HOSTILE_LOCATIONS])("a redirect to %j reaches no other host", async (location) => {
  const led = await ask(PUBLIC.href, {
    answers: { [PUBLIC.href]: () => redirect(location.trim().replaceAll("\n", "")) }
  });
  expect(new Set(led.asked.map((one) => new URL(one.url).host))).toEqual(new Set(["example.com"]));
  expect(led.asked.every((one) => one.url.startsWith("https:"))).toBe(true);
});

test.each(["https://example.com/", "http://example.com/", "https://8.8.8.8:8443/", "http://1.1.1.1:8080/a?b#c"])(
  "%s is asked",
  async (url) => {
    expect((await ask(url)).answer).toMatchObject({ status: 200 });
  }
);

test("what looks like an address behind the # is sent to no server", async () => {
  const { asked } = await ask("https://example.com#@10.0.0.1:22/");
  expect(asked.map(({ url }) => new URL(url).host)).toEqual(["example.com"]);
});

test("a chain that leads inside after several public hosts is cut there", async () => {
  const answers = {
    "https://a.example/": () => redirect("https://b.example/"),
    "https://b.example/": () => redirect("/c", 307),
    "https://b.example/c": () => redirect("https://metadata.google.internal/")
  };
  const { answer, asked } = await ask("https://a.example/", { answers });
  expect(answer).toContain("refused https://metadata.google.internal/: it is an address of a private network");
  expect(asked.map(({ url }) => url)).toEqual(Object.keys(answers));
});

test("what is opened from inside is asked where it was given, and never because something public led there", async () => {
  const opens = () => true;
  const answers = {
    "http://127.0.0.1:8080/": () => redirect("/next"),
    "https://example.com/": () => redirect("https://127.0.0.1:8443/"),
    "http://localhost:1/out": () => redirect("https://example.com/")
  };
  expect((await ask("http://127.0.0.1:8080/", { answers, opens })).answer).toMatchObject({
    url: "http://127.0.0.1:8080/next"
  });
  expect((await ask("https://example.com/", { answers, opens })).answer).toContain("own machine");
  expect((await ask("http://127.0.0.1:8080/", { answers })).answer).toContain("own machine");
  expect(refusalOf(new URL("http://10.0.0.1/"), new URL("http://10.0.0.2/"), { opens })).toBeUndefined();
});

test("redirects are counted, and one more than allowed is refused", async () => {
  const answers = { "https://example.com/": () => redirect("https://example.com/") };
  for (const redirects of [0, 1, 5]) {
    const { answer, asked } = await ask("https://example.com/", { answers, redirects });
    expect(answer).toContain(`redirected more than ${redirects} times`);
    expect(asked).toHaveLength(redirects + 1);
  }
  expect((await ask("https://example.com/", { answers, redirects: "manual" })).answer).toMatchObject({ status: 302 });
});

test("another origin is sent no header that could be a credential, whatever its name is", async () => {
  const request = {
    headers: { authorization: "a", cookie: "b", "proxy-authorization": "c", "x-api-key": "d", token: "e", accept: "f" }
  };
  for (const [to, isSame] of [
    ["https://example.com/next", true],
    ["https://example.com:8443/", false],
    ["https://www.example.com/", false],
    ["https://example.com.evil.example/", false]
  ] as const) {
    const answers = { "https://example.com/": () => redirect(to), [to]: () => redirect("https://example.com/back") };
    const { asked } = await ask("https://example.com/", { answers, request });
    expect(asked[0]?.headers).toEqual(request.headers);
    expect(asked[1]?.headers).toEqual(isSame ? request.headers : { accept: "f" });
    // Nor are they sent again when a chain comes back.
    expect(asked[2]?.headers).toEqual(isSame ? request.headers : { accept: "f" });
  }
});

test("a body is sent again only where the answer asks for the same request", async () => {
  const request = { method: "POST", body: "a=1", headers: { "content-type": "text/plain" } };
  for (const [status, method, body] of [
    [301, "GET", null],
    [302, "GET", null],
    [303, "GET", null],
    [307, "POST", "a=1"],
    [308, "POST", "a=1"]
  ] as const) {
    const answers = { "https://example.com/": () => redirect("/next", status) };
    const { asked } = await ask("https://example.com/", { answers, request });
    expect([asked[1]?.method, asked[1]?.body], String(status)).toEqual([method, body]);
    expect(asked[1]?.headers).toEqual(body === null ? {} : request.headers);
  }
});

describe("where a name can be resolved", () => {
  const names: Record<string, readonly string[]> = {
    "public.example": ["93.184.216.34", "2606:2800:220:1::1"],
    "rebound.example": ["93.184.216.34", "10.0.0.1"],
    "six.example": ["::ffff:169.254.169.254"],
    "own.example": ["127.0.0.1"],
    "odd.example": ["not an address"]
  };
  const resolve = async (name: string) => {
    if (!names[name]) throw new Error("ENOTFOUND");
    return names[name];
  };

  test.each([
    ["rebound.example", "stands for 10.0.0.1"],
    ["six.example", "stands for ::ffff:169.254.169.254"],
    ["own.example", "stands for 127.0.0.1"],
    ["odd.example", "no address"],
    ["unknown.example", "no address"]
  ])("%s is refused, also as the target of a redirect", async (host, reason) => {
    const given = await ask(`https://${host}/`, { resolve });
    expect(given.answer).toContain(reason);
    expect(given.asked).toEqual([]);
    const answers = { "https://public.example/": () => redirect(`https://${host}/`) };
    const led = await ask("https://public.example/", { resolve, answers });
    expect(led.answer).toContain(reason);
    expect(led.asked).toHaveLength(1);
  });

  test("a name from inside that is opened is asked, whatever it stands for", async () => {
    const opens = () => true;
    expect((await ask("http://intranet/", { resolve, opens })).answer).toMatchObject({ status: 200 });
  });

  test("a name of public addresses is asked, and an address needs no answer", async () => {
    expect((await ask("https://public.example/", { resolve })).answer).toMatchObject({ status: 200 });
    expect((await ask("https://8.8.8.8/", { resolve })).answer).toMatchObject({ status: 200 });
    expect((await ask("https://[2606:4700::1111]/", { resolve })).answer).toMatchObject({ status: 200 });
  });
});
