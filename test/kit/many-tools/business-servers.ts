// Servers for selling, paying, travelling and the rest of the world.
import type { ServerLines } from "./build.ts";

export const BUSINESS_SERVERS: readonly ServerLines[] = [
  {
    id: "stripe",
    name: "Stripe",
    style: "snake",
    own: `
refund_payment | Give money of a charge back to the customer, in full or in part. | payment_intent: Payment; amount: In the smallest unit; reason: Reason
capture_payment | Collect a payment that was only authorized. | payment_intent: Payment
get_balance | Money available and pending in the account. | currency: Currency
send_invoice | Mail a finalized invoice to the customer. | invoice: Invoice
finalize_invoice | Turn a draft invoice into one that can be paid. | invoice: Invoice
void_invoice | Make an open invoice invalid. | invoice: Invoice
pause_subscription | Stop collecting payments of a subscription for a while. | subscription: Subscription; resumes_at: Date
change_subscription_plan | Move a subscription to another price with proration. | subscription: Subscription; price: Price
create_checkout_session | A hosted page on which a customer pays. | line_items: What; success_url: Where the customer goes then
submit_dispute_evidence | Answer a chargeback with documents. | dispute: Dispute; evidence: Evidence
get_revenue_report | Gross and net volume per day or month. | from: From; to: To
create_payout | Send balance to the bank account. | amount: Amount; currency: Currency`,
    things: `
customer | customers | a person or company that pays | name, email, phone, address | search
subscription | subscriptions | a payment that repeats | customer, price, trial end, coupon | cancel
invoice | invoices | an amount that a customer owes | customer, lines, due date, currency | search
product | products | something that is sold | name, description, images | archive
price | prices | what a product costs | product, amount, currency, interval |
coupon | coupons | a discount | name, percent off, duration |
payment method | payment methods | a card or bank account of a customer | customer, type, token |
dispute | disputes | a payment that a customer's bank questions | payment, reason, amount |`
  },
  {
    id: "shopify",
    name: "Shopify",
    style: "camel",
    own: `
fulfillOrder | Marks an order as shipped, with carrier and tracking number. | orderId: Order; trackingNumber: Number; carrier: Carrier
adjustInventory | Changes how many units of a variant are in stock at a location. | variantId: Variant; locationId: Location; quantity: Difference
getInventoryLevels | Units in stock per location. | variantId: Variant
refundOrder | Pays an order or some of its lines back and restocks them. | orderId: Order; lines: Lines
getSalesByProduct | Best and worst selling products of a period. | from: From; to: To
getAbandonedCheckouts | Carts that customers left without paying. | since: Since
createGiftCard | Issues a gift card. | amount: Value; customerId: Customer
addOrderNote | Writes an internal note on an order. | orderId: Order; note: Text
printPackingSlip | The packing slip of an order as PDF. | orderId: Order
setProductAvailability | Publishes or hides a product in a sales channel. | productId: Product; channel: Channel
calculateShippingRates | What delivery of a cart to an address costs. | lines: Lines; address: Address
trackShipment | Where a parcel is now. | trackingNumber: Number`,
    things: `
product | products | something the shop sells | title, description, vendor, price, images | search copy tag archive
order | orders | what a customer bought | customer, lines, shipping address, tags | cancel search tag export
customer account | customer accounts | a person who buys | name, email, phone, addresses | search tag
discount code | discount codes | reduces the price at checkout | code, percent, starts at, ends at |
collection | collections | products that are shown together | title, rules, image |
return request | return requests | goods that a customer sends back | order, lines, reason | approve reject
blog post | blog posts | an article on the shop's site | title, content, author |`
  },
  {
    id: "salesforce",
    name: "Salesforce",
    style: "noun-first",
    own: `
run_soql | Run a SOQL query. | soql: Statement
convert_lead | Turn a qualified lead into an account, a contact and an opportunity. | lead: Lead; account: Account
log_call | Record a phone call with a contact. | contact: Contact; notes: Notes; minutes: Duration
advance_stage | Move an opportunity to another stage of the pipeline. | opportunity: Opportunity; stage: Stage
get_pipeline_forecast | Expected revenue by stage and quarter. | quarter: Quarter; owner: Owner
merge_accounts | Combine duplicate accounts. | master: Account that stays; duplicates: Others
add_to_campaign | Make contacts or leads members of a campaign. | campaign: Campaign; members: Members
run_report | Run a saved report and return its rows. | report: Report
submit_for_approval | Start the approval process of a record. | record: Record
get_activity_timeline | Calls, mails and meetings with an account. | account: Account
change_owner | Give a record to another salesperson. | record: Record; owner: Person
escalate_case | Raise a support case to the next level. | case: Case; reason: Reason`,
    things: `
lead | leads | a person who may become a customer | name, company, email, source, status | search assign
account | accounts | a company that we do business with | name, industry, website, owner | search
contact | contacts | a person at an account | name, email, phone, account | search
opportunity | opportunities | a sale that may be won | name, account, amount, close date, stage | close
support case | support cases | a problem that a customer reported | subject, description, account, priority | close comment
quote | quotes | prices offered to a customer | opportunity, lines, expiration | approve
campaign | campaigns | a marketing effort | name, type, budget, start date |`
  },
  {
    id: "zendesk",
    name: "Zendesk",
    style: "snake",
    own: `
reply_to_ticket | Answer the requester publicly. | ticket: Number; body: Text
add_internal_note | Write a note that only agents see. | ticket: Number; body: Text
merge_tickets | Join duplicate tickets into one. | target: Number; sources: Numbers
get_satisfaction_ratings | How customers rated the support they got. | from: From; score: good or bad
apply_macro | Apply a prepared set of changes to a ticket. | ticket: Number; macro: Macro
get_ticket_metrics | First response time, resolution time and reopens of a ticket. | ticket: Number
suggest_articles | Help center articles that may answer a question. | text: Question
mark_as_spam | Delete a ticket and block its requester. | ticket: Number
get_sla_breaches | Tickets that missed or will soon miss their service level. | policy: Policy
solve_ticket | Set a ticket to solved. | ticket: Number; comment: Last words
get_agent_workload | Open tickets per agent. | group: Group
set_ticket_priority | Make a ticket urgent, high, normal or low. | ticket: Number; priority: Priority`,
    things: `
ticket | tickets | a request of a customer | subject, description, requester, priority, status | assign search tag history
help article | help articles | an answer in the help center | title, body, section, labels | search archive
support agent | support agents | a person who answers tickets | name, email, role, group |
organization | organizations | a company that requesters belong to | name, domains, notes | search
macro | macros | prepared changes to tickets | title, actions |
ticket view | ticket views | a filtered list of tickets | title, conditions | export
trigger | triggers | does something when a ticket changes | title, conditions, actions |`
  },
  {
    id: "travel",
    name: "TripDesk",
    style: "kebab",
    own: `
search-flights | Find flights between two airports. | from: Airport; to: Airport; date: Day of departure; passengers: People
search-hotels | Find hotels in a city with free rooms. | city: City; check_in: First night; check_out: Departure; guests: People
search-trains | Find train connections. | from: Station; to: Station; time: Departure
book-flight | Buy a flight that was found. | offer: Offer; passengers: Names and birthdays
book-hotel-room | Reserve a room. | hotel: Hotel; check_in: First night; check_out: Departure
check-in-online | Check in for a flight and get boarding passes. | booking: Booking; seats: Seats
get-flight-status | Whether a flight is on time, its gate and delays. | flight: Number; date: Day
rent-car | Hire a car. | city: City; from: From; to: To; class: Class
check-visa-rules | Documents that are needed to enter a country. | nationality: Nationality; country: Country
convert-currency | What an amount is in another currency. | amount: Amount; from: Currency; to: Currency
get-weather-forecast | Temperature, rain and wind of the next days at a place. | place: Place; days: Days
get-directions | The way from one address to another, by car, bike, foot or transit. | from: Address; to: Address; mode: Mode`,
    things: `
trip | trips | flights, hotels and cars of one journey | title, traveler, start, end | share cancel copy
booking | bookings | something that was reserved | trip, provider, reference, price | cancel
traveler | travelers | a person who travels | name, passport, loyalty numbers |
travel expense | travel expenses | what was spent on a trip | trip, amount, category, receipt | approve reject export
loyalty program | loyalty programs | miles or points with an airline or hotel | provider, number, points |
travel policy | travel policies | what may be booked | name, class, limit | copy`
  }
];
