"""Words of titles that say what is done by a verb, or by a subject alone: bound, asked, taxed, counted."""

from monitor.ranking.acts import DRAFT, Act, ActRule

_GOODS = (
    r"(?:products?|foods?|cosmetics?|toys|imports?|exports?|sales?|use|vehicles?|plastics?|chemicals?|substances?"
    r"|advertis\w+|fees|pesticides?|additives?|materials?|practices)"
)
_FORMS_EN = (
    r"(?:rules?|regulations?|methodolog(?:y|ies)|standards?|codes?|requirements?|guidelines|orders?|determinations?"
    r"|regime|directions?|by-?laws?|ordinance|conditions|limits?|thresholds?|obligations?)"
)

_OF_ACTION = (
    ActRule(
        Act.CONSULTATION,
        r"(?:邀请|欢迎|诚邀|呼吁|请).{0,30}(?:提交|发表|提出|反馈).{0,8}(?:意见|建议|书面)",
        r"notices? of (?:inquiry|enquiry|proposed)|(?:feedback|comments?|submissions?|responses?|views|replies"
        r"|representations)"
        r" (?:are |is )?(?:due|close[sd]?|by|deadline|until|before|open)|(?:invitations?|requests?"
        r"|calls?) (?:for|to) (?:comment|input|respond|evidence|views|contribut\w+)|opens? (?:a "
        r"|the )?(?:public )?(?:debate|discussion)|(?:seeks|calls for|asks for|wants|invites) .{0,30}"
        r"(?:views|submissions|comments?|feedback|input|evidence)|(?:preliminary|consultation|discussion|pre-?)"
        r" ?(?:draft|paper|document)|public inquiry into|interim report and",
        unless=r"agenda|speech|information collection|merger|final rule|extend|re-?open|response to|acquisition"
        r"|proposed (?:settlement|decree)",
    ),
    ActRule(
        Act.APPROVAL,
        "",
        r"(?:merger|acquisition|takeover|joint venture|buy-?out|deal)\b.{0,60}(?:cleared|approved"
        r"|unconditional(?:ly)?"
        r"|prohibited|blocked|abandoned|subject to)|(?:blocks|prohibits|clears|waves through) .{0,60}(?:merger"
        r"|acquisition|takeover|deal)\b|type approvals?\b",
        unless=r"guid|rules|regime|notification threshold",
    ),
    ActRule(
        Act.RULE,
        r"(?:禁止|不得).{2,20}(?:的规定|的决定)$",
        rf"(?:issues|publishes|releases|makes|sets|confirms|announces|unveils|gazettes|approves|adopts|enacts"
        rf"|introduces"
        rf"|strengthens|tightens|overhauls|implements|finalises|finalizes|brings in) (?!draft|consult"
        rf"|proposed).{{0,40}}"
        rf"(?:final|new|revised|amended|updated|binding|mandatory|tougher|stricter|first|stronger) .{{0,50}}"
        rf"\b{_FORMS_EN}\b"
        rf"|(?:decides?|decision|moves?|votes?|agrees?|set|will|is|are|^[A-Z]\w+) to (?:mandate|require|ban|cap"
        rf"|prohibit"
        rf"|regulate"
        r"|outlaw|phase out|tighten)\b|(?:mandates|outlaws|prohibits) "
        rf"|bans? .{{0,50}}\b{_GOODS}\b|(?:standards?|codes?|rules)\b.{{0,12}} amended\b|^(?:new |final "
        rf"|revised )?rules? (?:on|for|to|requir\w+|oblig\w+|forc\w+"
        rf"|protect\w*)\b|amends .{{0,60}}\b{_FORMS_EN}\b|amendments? to .{{0,70}}\b(?:made|published|gazetted"
        rf"|takes? effect|in force|adopted|issued|notified)\b|agrees? to (?:end|phase|cap|raise|cut)"
        rf"|approves .{{0,40}}\b(?:code|rules|standard|regulations|methodology|tariff order)\b",
        unless=DRAFT
        + r"|for (?:life|\d|\w+ years)|former|adviser|director|guidance|speech|statement|blog|survey|report"
        r"|\b(?:Ltd|Limited|Inc|LLC|plc)\b|drug|vaccine|treatment",
    ),
    ActRule(
        Act.SUPERVISION,
        r"(?:部门|总局|委|会|央行|人民银行|局).{0,8}(?:要求|责成|敦促|明确).{2,30}(?:机构|企业|平台|银行|公司"
        r"|单位|行业|经营者)",
        unless=DRAFT + r"|处罚|通知|公告",
    ),
    ActRule(
        Act.TERMS,
        r"(?:试行|实施|实行|延长|恢复|给予|单方面|扩大).{0,12}免签|免签(?:政策|安排|国家)|(?:核定|制定|公布|明确"
        r"|重新核定|确定).{0,40}(?:价格|电价|气价|水价|运价"
        r"|费率|收费|税率|补贴标准|补助标准)(?:有关(?:事项|问题))?的?(?:通知|公告|决定|批复)",
        r"(?:announces|introduces|imposes|sets|launches|unveils|confirms) .{0,40}\b(?:tax|levy|duty|tariffs?"
        r"|surcharge|rebate"
        r"|price cap)\b",
        unless=r"意见稿|征求意见|办法",
    ),
)

_OF_SUBJECTS = (
    ActRule(Act.BINDING_STANDARD, r"强制性国标", unless=DRAFT + r"|解读|计划"),
    ActRule(
        Act.SUPERVISION, r"标准(?:合同|必要专利|条款).{2,40}(?:公告|通知|指引|通告)$", unless=DRAFT + r"|解读|问答"
    ),
    ActRule(
        Act.EXECUTION,
        r"^(?!.{0,30}(?:批次|起|家|款)).{4,16}通报.{2,40}情况$",
        r"(?:inspection|enforcement|compliance|surveillance|audit|border) (?:campaign|sweep|programme|program"
        r"|blitz|checks"
        r"|drive)",
        unless=r"guid|report|results|findings",
    ),
    ActRule(
        Act.APPLICATION,
        "",
        r"(?:tenders?|auctions?) (?:for|of|round for) .{0,40}(?:[MG]W\b|capacity|spectrum|wind|solar|storage"
        r"|hydrogen|licen\w+)",
        unless=r"results?|winners?|awarded|consult|draft",
    ),
    ActRule(
        Act.DATA,
        r"价格.{0,6}(?:波动|上涨|下跌|走势|平稳|走低|走高)|(?:储备|交易|融资|发行|贷款|存款|市场)规模$|存栏|销货"
        r"|销售额|数字$|(?:猪肉|粮食|煤炭|农产品|蔬菜|钢材"
        r"|水泥|生产资料|商品)\w{0,6}价格(?:$|监测|周)",
        r"[A-Z]\.\d+$|(?:register|market|trading|auction) summary",
        unless=r"通知|公告|意见|办法",
    ),
    ActRule(
        Act.RULE,
        r"(?:发布|出台|实施|公布|印发|推出).{2,30}新规$|新规.{0,4}(?:落地|出台|施行|实施|发布|生效)",
        rf"\b{_FORMS_EN}\b.{{0,20}}\b(?:starts?|begins?|kicks? in|takes? effect|(?:comes?|enters?) into"
        rf"|effective|apply from"
        rf"|applies from)\b"
        rf"|(?:sets?|imposes?|introduces?|lowers|issues) .{{0,30}}\b(?:limits?|caps?|targets?|ceilings?|rules?)\b"
        rf"|\((?:binding|final|mandatory)\)",
        unless=DRAFT + r"|guid|speech|report|agenda|objectives|strateg",
    ),
    ActRule(
        Act.TERMS,
        r"(?:起退点|起征点|限额|额度|门槛|比例|税率|费率|利率|票价|电价|工资标准).{0,10}(?:提高|降低|下调|上调"
        r"|调整|放宽|收紧|翻倍|取消)|《[^》]{2,60}(?:目录"
        r"|清单)》.{0,4}(?:印发|发布|公布|出台)$",
        r"sanctions\b.{0,30}(?:package|adopted|measures|renewed|extended|imposed|tightened)|(?:package"
        r"|round) of sanctions"
        r"|^(?:removal|abolition|introduction|phase-?out|elimination|suspension|lifting|tightening|creation"
        r"|end) of (?:the )?"
        r".{0,40}(?:exemptions?|requirements?|restrictions?|rules?|regime|dut(?:y|ies)|relief|thresholds?|limits?)\b",
        unless=DRAFT + r"|guid|统计|数据|同比|speech|report|breach|evad|violat",
    ),
)

_OF_SHORT_TITLES = (
    ActRule(
        Act.TERMS,
        r"(?:调整|修订|更新|扩大|扩围).{0,30}(?:商品|产品|进口|出口|准入|负面|管制|药品|免税)\w{0,8}(?:清单|目录)$"
        r"|(?:征收|收费|缴费|补贴|补助|计费|缴纳)标准.{0,10}(?:通知|公告)",
        r"(?:suspends?|halts?|resumes?|lifts?|eases?|restricts?|curbs?) .{0,40}\b(?:exports?|imports?)\b",
        unless=DRAFT + r"|解读|问答|公司|speech|report",
    ),
    ActRule(
        Act.RULE,
        r"新规[：:]|印发.{0,40}(?:经办|结算|管理|服务|业务|办理|登记|审批)\w{0,6}规程》?(?:[（(].{1,12}[）)])?的通知$",
        unless=DRAFT + r"|解读|问答|技术规程|一图|解答",
    ),
    ActRule(
        Act.POLICY,
        r"若干(?:政策|举措|措施|条)|(?:\d|[一二三四五六七八九十])条(?:政策|措施"
        r"|举措)?$",
        unless=DRAFT + r"|解读|问答|图",
    ),
    ActRule(
        Act.SUPERVISION,
        r"[：:].{0,4}(?:严禁|禁止|不得|叫停|严控)",
        r"(?:industry|supervisory|joint|open) letter\b|required actions",
        unless=DRAFT + r"|解读|宣传|提示",
    ),
    ActRule(
        Act.DATA,
        r"(?:核发|完成|发放|发电|新增|产量|用电|投放|办结).{0,12}\d(?:亿|万)(?:个|吨|千瓦时|千瓦|元|美元|人次|人"
        r"|家|户|件|辆)?$",
        r"[^;:]{4,60}[:,] (?:first|second) half 20\d\d$|[^;:]{4,60}, week \d+$",
        unless=r"罚|投资|资助|追缴|召回|贷款项目|fine|pay",
    ),
)

ACTION_FORMS = (*_OF_ACTION, *_OF_SUBJECTS, *_OF_SHORT_TITLES)
"""In order, behind the cases of `case_words` and before the forms of `form_words`."""
