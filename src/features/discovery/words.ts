// The words of a text as a search compares them: split at punctuation and inside camelCase, without endings and without
// words that say nothing. Words that mean the same for tools are known as such. Pure.

const STOP_WORDS = new Set(
  (
    "a about all also am an and any are as at be been but by can could did do does for from had has have how i if in " +
    "into is it its just let me my need of on one or our out please should so some than that the their them then there " +
    "these they this those to tool tools up us use using want was we were what when where which who why will with would " +
    "you your"
  ).split(" ")
);

/** In order, each as often as it occurs. */
export function wordsOf(text: string): string[] {
  const parts = text
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return (parts ?? []).filter((word) => !STOP_WORDS.has(word)).map(stemOf);
}

const SHORTEST_STEM = 3;

/** Endings of English words. What is left need not be a word, only the same for all forms of one. */
function stemOf(word: string): string {
  if (!/^[a-z]+$/.test(word)) return word;
  return [singular, withoutForm, withoutNoun, withoutE].reduce((stem, cut) => {
    const next = cut(stem);
    return next.length >= SHORTEST_STEM ? next : stem;
  }, word);
}

function singular(word: string): string {
  if (/(ss|us|is)$/.test(word)) return word;
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(s|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith("s") ? word.slice(0, -1) : word;
}

/** "booking", "booked" and "stopped" as "book" and "stop". */
function withoutForm(word: string): string {
  const stem = /^(.*[aeiouy].*?)(?:ing|ed)$/.exec(word)?.[1];
  if (stem === undefined || stem.length < SHORTEST_STEM) return word;
  return /([bdgkmnprt])\1$/.test(stem) ? stem.slice(0, -1) : stem;
}

/** "translation" as "translat", which "translate" becomes too. */
function withoutNoun(word: string): string {
  return /[st]ion$/.test(word) ? word.slice(0, -3) : word;
}

function withoutE(word: string): string {
  return word.endsWith("e") ? word.slice(0, -1) : word;
}

/** Each line: words that people use for each other when they ask for a tool. */
const SYNONYMS = `
find search look lookup query seek locate discover
get fetch read retrieve show view display see open describe check inspect detail
list enumerate browse overview
create add make new insert register set
delete remove drop erase discard destroy purge rid
update edit change modify alter adjust patch correct
send post deliver publish dispatch
move transfer relocate
copy duplicate clone
run launch execute trigger start begin
stop cancel abort halt terminate end
approve accept confirm
reject decline deny refuse
assign allocate delegate
comment reply respond answer
message chat dm write
mail email
issue ticket bug
person people user member colleague contact employee staff teammate
customer client
picture image photo
file document doc
folder directory
repository repo codebase
pr pull
review feedback
invoice bill
payment charge pay
refund reimburse
meeting event appointment
schedule plan book reserve
price cost fee
error exception crash failure bug
deploy release rollout ship
environment env
database db
configuration config setting option
credential secret password token
permission access role right
statistic stat metric number figure analytic
label tag
upload attach
share invite
lock freeze block suspend
subscribe follow watch
task todo
delivery shipment parcel package shipping
order purchase buy
product item article
vacation leave holiday absence
salary wage payroll
job vacancy opening
candidate applicant
deal opportunity
website site
advert ad campaign
video film movie clip
audio recording sound
transcript caption subtitle
currency exchange
temperature weather forecast
flight plane airline
hotel room accommodation stay
route direction navigation
stock share equity
news headline
summary summarize digest
merge combine join
split divide
rename retitle
restore undo revert recover rollback
disable deactivate off
enable activate on
close resolve finish complete
`;

const GROUPS: ReadonlyMap<string, ReadonlySet<string>> = synonymGroups();

function synonymGroups(): Map<string, Set<string>> {
  const groups = new Map<string, Set<string>>();
  for (const line of SYNONYMS.trim().split("\n")) {
    const stems = wordsOf(line);
    for (const stem of stems) {
      const known = groups.get(stem) ?? new Set();
      for (const other of stems) if (other !== stem) known.add(other);
      groups.set(stem, known);
    }
  }
  return groups;
}

/** Others that may be meant by a word that `wordsOf` gave. */
export function synonymsOf(stem: string): Iterable<string> {
  return GROUPS.get(stem) ?? [];
}
